//! The crate `simple-frame-rs`.

use std::hint::black_box;

use fallible_iterator::FallibleIterator as _;
use simple_frame_rs::{SFrameError, SFrameSection};

use crate::{Contender, Group, Input};

const NAME: &str = "simple-frame-rs";

fn section(input: &Input) -> Result<SFrameSection<'_>, String> {
    SFrameSection::from(&input.data, input.address).map_err(|error| error.to_string())
}

fn look_up(section: &SFrameSection<'_>, pc: u64) -> Result<u64, SFrameError> {
    let Some(fde) = section.find_fde(pc)? else { return Ok(0) };
    let Some(fre) = fde.find_fre(section, pc)? else { return Ok(0) };
    black_box((fre.get_ra_offset(section)?, fre.get_fp_offset(section)?, fre.get_cfa_base_reg_id()));
    Ok(fre.get_cfa_offset(section)?.unwrap_or_default().unsigned_abs().into())
}

fn read(section: &SFrameSection<'_>) -> Result<u64, SFrameError> {
    let SFrameSection::V3(section) = section else { return Err(SFrameError::UnsupportedVersion) };
    let mut sum = 0_i64;
    let mut fdes = section.iter_fde();
    while let Some(fde) = fdes.next()? {
        let mut fres = fde.iter_fre(section);
        while let Some(fre) = fres.next()? {
            let offsets =
                [fre.get_cfa_offset(section), fre.get_ra_offset(section), fre.get_fp_offset(section)];
            sum += offsets.into_iter().flatten().map(i64::from).sum::<i64>();
        }
    }
    Ok(sum.cast_unsigned())
}

pub fn contenders(input: &Input) -> Result<Vec<Contender<'_>>, String> {
    let mut contenders = Vec::new();
    for (group, pcs) in [(Group::Random, &input.random), (Group::Hot, &input.hot)] {
        let section = section(input)?;
        let look_up = move |pc| look_up(&section, pc).unwrap_or_default();
        contenders.push(Contender::look_up(group, NAME, pcs, look_up));
    }
    let read = || read(&section(input)?).map_err(|error| error.to_string());
    contenders.push(Contender::read(NAME, input, read));
    Ok(contenders)
}
