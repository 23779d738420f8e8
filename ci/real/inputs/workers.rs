//! Rust's standard library: threads, channels, maps, trait objects, and panics that drop what they pass.
//! Built as a library, so that the assembler sees its code; `workers_main.rs` calls it.

use std::collections::{BTreeMap, HashMap};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::thread;

struct Noted(&'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        println!("drop {}{}", self.0, if thread::panicking() { ", panicking" } else { "" });
    }
}

trait Shape {
    fn area(&self) -> f64;
}

struct Square(f64);
struct Circle(f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        3.25 * self.0 * self.0
    }
}

fn words() {
    let text = "the quick brown fox jumps over the lazy dog while the other dog sleeps";
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for _ in 0..50 {
        for word in text.split(' ') {
            *counts.entry(word).or_default() += 1;
        }
    }
    let sorted: BTreeMap<_, _> = counts.into_iter().collect();
    println!("{sorted:?}");
}

fn channels() {
    let (sender, receiver) = mpsc::channel::<(usize, u64)>();
    let handles: Vec<_> = (1..=4usize)
        .map(|number| {
            let sender = sender.clone();
            thread::spawn(move || {
                for item in 0..25 {
                    sender.send((number, item * number as u64)).expect("the receiver lives");
                }
            })
        })
        .collect();
    drop(sender);
    let mut sums = [0u64; 5];
    for (number, value) in receiver {
        sums[number] += value;
    }
    for handle in handles {
        handle.join().expect("no sender panics");
    }
    println!("sums {sums:?}");
}

fn waiting() {
    let shared = Arc::new((Mutex::new(0u32), Condvar::new()));
    let scoped = thread::scope(|scope| {
        scope.spawn(|| {
            let (lock, changed) = &*shared;
            *lock.lock().expect("unpoisoned") = 5;
            changed.notify_all();
        });
        let (lock, changed) = &*shared;
        let guard = changed.wait_while(lock.lock().expect("unpoisoned"), |value| *value == 0).expect("unpoisoned");
        *guard
    });
    println!("waited for {scoped}");
}

#[inline(never)]
fn descend(depth: u32, values: &[u32]) -> u32 {
    let _noted = (depth % 5 == 0).then_some(Noted("in descend"));
    if depth == 0 {
        return values[values.len() + depth as usize];
    }
    descend(depth - 1, values) + depth
}

fn panics() {
    panic::set_hook(Box::new(|_| println!("panic")));
    let _outer = Noted("outer");
    let caught = panic::catch_unwind(|| descend(12, &[1, 2, 3]));
    println!("caught {}", caught.is_err());

    let mut attempts = 0;
    while panic::catch_unwind(AssertUnwindSafe(|| {
        attempts += 1;
        let _inner = Noted("inner");
        if attempts < 3 {
            panic::resume_unwind(Box::new(attempts));
        }
    }))
    .is_err()
    {}
    println!("{attempts} attempts");

    let mutex = Arc::new(Mutex::new(vec![1]));
    let other = Arc::clone(&mutex);
    let ended = thread::spawn(move || {
        let _guard = other.lock().expect("unpoisoned");
        let none: Option<u32> = None;
        none.expect("there is none")
    })
    .join();
    println!("thread panicked {}, mutex poisoned {}", ended.is_err(), mutex.is_poisoned());
}

/// Runs everything.
#[unsafe(no_mangle)]
pub extern "C" fn run_workers() {
    words();
    channels();
    waiting();
    let shapes: Vec<Box<dyn Shape + Send>> = vec![Box::new(Square(2.0)), Box::new(Circle(1.5))];
    println!("areas {:?}", shapes.iter().map(|shape| shape.area()).collect::<Vec<_>>());
    let mut numbers: Vec<u64> = (0..3000u64).map(|number| number * 7919 % 10007).collect();
    numbers.sort_by(|left, right| right.cmp(left));
    println!("sorted {:?}", &numbers[..3]);
    panics();
}
