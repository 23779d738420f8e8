//! rstest makes a test for each spec when the tests are compiled. Cargo has to
//! know that a new spec or build is a reason to compile them again.

fn main() {
    for folder in ["specs", "corpus/manifest.yaml"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
