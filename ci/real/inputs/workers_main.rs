//! The entry of `workers.rs`.

unsafe extern "C" {
    fn run_workers();
}

fn main() {
    // SAFETY: it takes nothing and returns nothing.
    unsafe { run_workers() };
}
