//! Slicing static archives: every member by itself, and the archive put together again with the places
//! of its members in the symbol index.
//!
//! The System V form, as GNU `ar` and `llvm-ar` write it on Linux.

use std::collections::{BTreeMap, BTreeSet};

use super::file;
use super::plan::{Order, Part, SliceError, SlicePlan, TargetBytes};
use crate::arch::Capability;
use crate::elf::is_elf;
use crate::gpu::CodeError;
use crate::gpu::containers::members::LONGEST_NAME;
use crate::parallel::side_by_side;

const MAGIC: &[u8] = b"!<arch>\n";
const THIN_MAGIC: &[u8] = b"!<thin>\n";
const HEADER_SIZE: usize = 60;

/// Whether the bytes begin like a static archive.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(THIN_MAGIC)
}

/// A member: its header, its content, and the content afterwards.
struct Member<'a> {
    at: usize,
    header: &'a [u8],
    content: &'a [u8],
    parts: Vec<Part>,
    size: u64,
}

fn damaged(what: &str) -> SliceError {
    SliceError::Code(CodeError::damaged(format!("static archive: {what}")))
}

pub(super) fn slice(bytes: &[u8], order: Order<'_>) -> Result<SlicePlan, SliceError> {
    if bytes.starts_with(THIN_MAGIC) {
        return Err(CodeError::Unsupported("a thin static archive, which only names its members,").into());
    }
    let mut members = members(bytes)?;
    let names =
        members.iter().find(|member| member.header.starts_with(b"// ")).map_or(&[][..], |member| member.content);
    // One member is one thread's.
    let alone = Order { threads: 1, ..order };
    let plans = side_by_side(
        &members,
        order.threads_for(bytes.len() as u64),
        || (),
        |(), member| is_elf(member.content).then(|| file::slice(member.content, alone)),
    );
    let mut sum = Sum::default();
    for (member, planned) in members.iter_mut().zip(plans) {
        let name = || name(member.header, names);
        let inner = match planned {
            Some(Ok(inner)) => inner,
            None | Some(Err(SliceError::Nothing)) => continue,
            Some(Err(error)) => return Err(damaged(&format!("member {}: {error}", name()))),
        };
        let name = name();
        let said = inner.containers.len() + inner.losses.len() + inner.notes.len() + inner.warnings.len();
        let too_much = || damaged("its members say too much for its size");
        order.budget.keep((said * (name.len() + 64)) as u64).ok_or_else(too_much)?;
        let base = (member.at + HEADER_SIZE) as u64;
        member.parts = inner.parts.iter().map(|part| shifted(part, base)).collect();
        member.size = inner.new_length;
        sum.add(&name, base, inner);
    }
    if sum.plans == 0 {
        return Err(SliceError::Nothing);
    }
    let parts = put_together(&members)?;
    Ok(SlicePlan {
        length: bytes.len() as u64,
        new_length: parts.iter().map(Part::size).sum(),
        parts,
        containers: sum.containers,
        targets: sum.targets.into_values().collect(),
        served: sum.served,
        losses: sum.losses,
        gaps: Vec::new(),
        together: sum.together == sum.plans,
        notes: sum.notes,
        warnings: sum.warnings,
    })
}

/// What the plans of all members say.
#[derive(Default)]
struct Sum {
    plans: usize,
    together: usize,
    containers: Vec<super::plan::ContainerSlice>,
    targets: BTreeMap<(usize, String), TargetBytes>,
    served: BTreeSet<Capability>,
    losses: Vec<super::plan::Loss>,
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl Sum {
    fn add(&mut self, name: &str, base: u64, plan: SlicePlan) {
        self.plans += 1;
        self.together += usize::from(plan.together);
        self.served.extend(plan.served);
        for mut container in plan.containers {
            container.place = format!("{name}: {}", container.place);
            container.at += base;
            self.containers.push(container);
        }
        for mut loss in plan.losses {
            loss.place = format!("{name}: {}", loss.place);
            loss.at += base;
            self.losses.push(loss);
        }
        let named = |text: String| format!("{name}: {text}");
        self.notes.extend(plan.notes.into_iter().map(named));
        self.warnings.extend(plan.warnings.into_iter().map(named));
        for target in plan.targets {
            let kind = match target.target.split('_').next() {
                Some("sm") => 0,
                Some("compute") => 1,
                Some("lto") => 2,
                _ => 3,
            };
            // `sm_100` behind `sm_90`: shorter names are smaller numbers.
            let key = (kind, format!("{:>24}", target.target));
            match self.targets.get_mut(&key) {
                Some(sum) => {
                    sum.kept += target.kept;
                    sum.kept_bytes += target.kept_bytes;
                    sum.dropped += target.dropped;
                    sum.dropped_bytes += target.dropped_bytes;
                }
                None => {
                    self.targets.insert(key, target);
                }
            }
        }
    }
}

fn shifted(part: &Part, base: u64) -> Part {
    match part {
        Part::Copy { from, size } => Part::Copy { from: from + base, size: *size },
        other => other.clone(),
    }
}

fn members(bytes: &[u8]) -> Result<Vec<Member<'_>>, SliceError> {
    let mut members = Vec::new();
    let mut at = MAGIC.len();
    while at + HEADER_SIZE <= bytes.len() {
        let header = &bytes[at..at + HEADER_SIZE];
        let size = std::str::from_utf8(&header[48..58]).ok().and_then(|text| text.trim_end().parse::<usize>().ok());
        let size = size.filter(|_| header.ends_with(b"`\n")).ok_or_else(|| damaged("no header of a member"))?;
        let end = (at + HEADER_SIZE).checked_add(size).filter(|end| *end <= bytes.len());
        let end = end.ok_or_else(|| damaged("a member reaches past the end"))?;
        if header.starts_with(b"#1/") || header.starts_with(b"__.SYMDEF") {
            return Err(CodeError::Unsupported("a static archive in BSD form").into());
        }
        let base = (at + HEADER_SIZE) as u64;
        let parts = vec![Part::Copy { from: base, size: size as u64 }];
        let content = &bytes[at + HEADER_SIZE..end];
        members.push(Member { at, header, content, parts, size: size as u64 });
        at = end.next_multiple_of(2);
    }
    Ok(members)
}

/// A member's name; long ones stand in a member of their own.
fn name(header: &[u8], names: &[u8]) -> String {
    let text = String::from_utf8_lossy(&header[..16]).trim_end().to_owned();
    let long = text.strip_prefix('/').and_then(|digits| digits.parse::<usize>().ok()).and_then(|at| names.get(at..));
    match long {
        Some(rest) => {
            // Many headers may name one text.
            let rest = &rest[..rest.len().min(LONGEST_NAME)];
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            String::from_utf8_lossy(&rest[..end]).trim_end_matches('/').to_owned()
        }
        None => text.trim_end_matches('/').to_owned(),
    }
}

/// The symbol index names members by the places of their headers.
fn put_together(members: &[Member<'_>]) -> Result<Vec<Part>, SliceError> {
    let mut places = BTreeMap::new();
    let mut at = MAGIC.len() as u64;
    for member in members {
        places.insert(member.at as u64, at);
        at = (at + HEADER_SIZE as u64 + member.size).next_multiple_of(2);
    }
    let mut parts = vec![Part::Bytes(MAGIC.to_vec())];
    for member in members {
        let mut header = member.header.to_vec();
        let size = format!("{:<10}", member.size);
        header[48..58].copy_from_slice(size.as_bytes().get(..10).ok_or_else(|| damaged("a member is too large"))?);
        parts.push(Part::Bytes(header));
        let index = match member.header.get(..8) {
            Some(b"/       ") => Some(index::<4>(member.content, &places)?),
            Some(b"/SYM64/ ") => Some(index::<8>(member.content, &places)?),
            _ => None,
        };
        match index {
            Some(bytes) => parts.push(Part::Bytes(bytes)),
            None => parts.extend(member.parts.iter().cloned()),
        }
        if member.size % 2 == 1 {
            parts.push(Part::Bytes(b"\n".to_vec()));
        }
    }
    Ok(parts)
}

/// The symbol index with new places: a count and so many places, big-endian, of `N` bytes each.
fn index<const N: usize>(content: &[u8], places: &BTreeMap<u64, u64>) -> Result<Vec<u8>, SliceError> {
    let wrong = || damaged("its symbol index names no member");
    let read = |bytes: &[u8]| bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let mut bytes = content.to_vec();
    let count = usize::try_from(read(content.get(..N).ok_or_else(wrong)?)).map_err(|_| wrong())?;
    let end = count.checked_add(1).and_then(|count| count.checked_mul(N)).ok_or_else(wrong)?;
    for place in bytes.get_mut(N..end).ok_or_else(wrong)?.chunks_exact_mut(N) {
        let new = places.get(&read(place)).ok_or_else(wrong)?;
        place.copy_from_slice(&new.to_be_bytes()[8 - N..]);
    }
    Ok(bytes)
}
