//! Random numbers: getrandom(2).

use crate::linux::answer::Call;
use crate::linux::kernel::Linux;
use crate::linux::user::User;

impl Linux {
    pub(crate) fn call_random(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        /// More than any program asks for at once; less is allowed.
        const MOST: u64 = 1 << 20;
        (name == "getrandom").then(|| {
            let len = a[1].min(MOST);
            let bytes = self.random.bytes(usize::try_from(len).unwrap_or_default());
            user.write(a[0], &bytes)?;
            Ok(len)
        })
    }
}
