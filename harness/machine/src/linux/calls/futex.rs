//! Futexes: words on which tasks wait (futex(2)).

use rustix::io::Errno;

use super::time::{deadline, timespec};
use crate::linux::answer::{Call, Refused};
use crate::linux::kernel::Linux;
use crate::linux::objects::tasks::{On, Wait};
use crate::linux::user::{User, low};

const WAIT: u64 = 0;
const WAKE: u64 = 1;
const REQUEUE: u64 = 3;
const CMP_REQUEUE: u64 = 4;
const WAKE_OP: u64 = 5;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;
/// `FUTEX_PRIVATE_FLAG`; all are private.
const PRIVATE: u64 = 128;
/// `FUTEX_CLOCK_REALTIME`.
const DATE: u64 = 256;

impl Linux {
    pub(crate) fn call_futex(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "futex" => self.futex(user, a),
            "set_robust_list" => Ok(0),
            "get_robust_list" => Err(Errno::NOSYS.into()),
            _ => return None,
        })
    }

    fn futex(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        let [address, operation, value, timeout, second, third] = a;
        let space = self.tasks.current().space;
        let mask = low(third);
        if !address.is_multiple_of(4) {
            return Err(Errno::INVAL.into());
        }
        match operation & !(PRIVATE | DATE) {
            WAIT | WAIT_BITSET => self.futex_wait(user, a),
            WAKE => Ok(self.tasks.wake_futex(space, address, value.min(i32::MAX as u64), u32::MAX)),
            WAKE_BITSET if mask == 0 => Err(Errno::INVAL.into()),
            WAKE_BITSET => Ok(self.tasks.wake_futex(space, address, value.min(i32::MAX as u64), mask)),
            REQUEUE | CMP_REQUEUE => {
                if operation & !(PRIVATE | DATE) == CMP_REQUEUE && user.half(address)? != low(third) {
                    return Err(Errno::AGAIN.into());
                }
                let woken = self.tasks.wake_futex(space, address, value, u32::MAX);
                // The fourth argument is a number here.
                let moved = self.tasks.requeue(space, address, second, timeout);
                Ok(woken + moved)
            }
            WAKE_OP => self.wake_op(user, a),
            _ => Err(Errno::NOSYS.into()),
        }
    }

    fn futex_wait(&self, user: &User<'_, '_>, a: [u64; 6]) -> Call {
        let [address, operation, value, timeout, _, third] = a;
        let is_plain = operation & !(PRIVATE | DATE) == WAIT;
        let mask = if is_plain { u32::MAX } else { low(third) };
        if mask == 0 {
            return Err(Errno::INVAL.into());
        }
        if user.half(address)? != low(value) {
            return Err(Errno::AGAIN.into());
        }
        let deadline = if is_plain {
            deadline(self, user, timeout)?
        } else if timeout == 0 {
            None
        } else {
            let clock = if operation & DATE == 0 { 1 } else { 0 };
            Some(self.clock.at(clock, timespec(user, timeout)?)?)
        };
        let space = self.tasks.current().space;
        Err(Refused::Wait(Wait::on(On::Futex { space, address, mask }, deadline, deadline.is_none())))
    }

    /// Changes the second word, wakes who waits for the first, and for the second if its old
    /// value compares.
    fn wake_op(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        let [address, _, value, most, second, third] = a;
        let operation = low(third);
        let field = |from: u32, bits: u32| (operation >> from) & ((1 << bits) - 1);
        let signed = |field: u32| (field << 20).cast_signed() >> 20;
        let old = user.half(second)?;
        let operand = signed(field(12, 12));
        let operand = if field(28, 4) & 8 == 0 { operand } else { 1 << (operand & 31) };
        let operand = operand.cast_unsigned();
        let new = match field(28, 4) & 7 {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            4 => old ^ operand,
            _ => return Err(Errno::NOSYS.into()),
        };
        user.write_half(second, new)?;
        let (old, compared) = (old.cast_signed(), signed(field(0, 12)));
        let holds = match field(24, 4) {
            0 => old == compared,
            1 => old != compared,
            2 => old < compared,
            3 => old <= compared,
            4 => old > compared,
            5 => old >= compared,
            _ => return Err(Errno::NOSYS.into()),
        };
        let space = self.tasks.current().space;
        let mut woken = self.tasks.wake_futex(space, address, value, u32::MAX);
        if holds {
            woken += self.tasks.wake_futex(space, second, most, u32::MAX);
        }
        Ok(woken)
    }
}
