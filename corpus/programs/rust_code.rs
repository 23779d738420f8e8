//! Rust without a library: trait objects, generics, closures, drops, recursion.

#![no_std]

use core::hint::black_box;

extern "C" {
    fn bench_check(got: u32, want: u32) -> i32;
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn leaf(x: u32) -> u32 {
    black_box(x).wrapping_mul(2654435761) >> 27
}

trait Shape {
    fn area(&self) -> u32;
}

struct Square(u32);
struct Circle {
    radius: u32,
    scale: u64,
}

impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u32 {
        black_box(leaf(self.0.wrapping_mul(self.0))).wrapping_add(1)
    }
}

impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> u32 {
        let inner = Square(self.radius);
        black_box(leaf(self.radius)).wrapping_mul(3).wrapping_add(measure(black_box(&inner))) ^ self.scale as u32
    }
}

#[inline(never)]
#[no_mangle]
fn measure(shape: &dyn Shape) -> u32 {
    black_box(shape.area()) ^ 5
}

/// Adds to its sum when it goes out of scope.
struct Guard<'a>(&'a mut u32);

impl Drop for Guard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        *self.0 = self.0.wrapping_add(black_box(leaf(*self.0 & 7)));
    }
}

#[inline(never)]
fn guarded<F: Fn(u32) -> u32>(sum: &mut u32, function: F) -> u32 {
    let guard = Guard(sum);
    let value = black_box(function(*guard.0));
    drop(guard);
    value
}

#[inline(never)]
#[no_mangle]
fn descend(levels: u32, sum: &mut u32) -> u32 {
    if levels == 0 {
        return black_box(measure(black_box(&Circle { radius: *sum & 15, scale: 9 })));
    }
    let local = [levels, *sum, 3, 4, 5];
    black_box(&local);
    let below = black_box(descend(levels.wrapping_sub(1), sum));
    let own = guarded(sum, |x| black_box(leaf(x.wrapping_add(levels))).wrapping_add(1));
    below.wrapping_mul(31).wrapping_add(own).wrapping_add(local[0])
}

enum Step {
    Leaf(u32),
    Measure(Square),
    Descend { levels: u32 },
}

#[inline(never)]
#[no_mangle]
fn run(step: Step, sum: &mut u32) -> u32 {
    match step {
        Step::Leaf(x) => black_box(leaf(x)).wrapping_add(1),
        Step::Measure(square) => black_box(measure(black_box(&square))).wrapping_add(2),
        Step::Descend { levels } => black_box(descend(levels, sum)).wrapping_add(3),
    }
}

#[no_mangle]
pub extern "C" fn main() -> i32 {
    let mut sum = 0;
    let mut total: u32 = 0;
    let mut i: u32 = 0;

    while i < 24 {
        let step = match i & 3 {
            0 => Step::Leaf(i),
            1 => Step::Measure(Square(i)),
            _ => Step::Descend { levels: i & 7 },
        };
        total = total.wrapping_mul(31).wrapping_add(run(step, &mut sum));
        i = i.wrapping_add(1);
    }
    unsafe { bench_check(total.wrapping_add(sum), 0x6f592a94) }
}
