//! Which packages serve all devices of a machine: the best for each, and the fewest for all.

use std::collections::BTreeSet;

use crate::gpu::Choice;

/// Packages that serve one device, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    /// Indexes of packages in the order of the chain.
    ranked: Vec<usize>,
    /// How many of them, from the first on, are of the kind that is wanted: machine code where there is any.
    wanted: usize,
}

impl Wish {
    pub(super) fn of(choice: &Choice) -> Self {
        let usable: Vec<_> = choice.trace.iter().filter_map(|one| Some((one.index, one.place?))).collect();
        let machine_code = usable.iter().filter(|(_, place)| place.is_machine_code()).count();
        let wanted = if machine_code > 0 { machine_code } else { usable.len() };
        Self { ranked: usable.into_iter().map(|(index, _)| index).collect(), wanted }
    }

    fn candidates(&self) -> &[usize] {
        &self.ranked[..self.wanted]
    }

    /// How far down its list the device is served by some packages; none when it is not.
    fn rank(&self, packages: &[usize]) -> Option<usize> {
        self.candidates().iter().position(|candidate| packages.contains(candidate))
    }
}

/// The first choice of every device.
pub(super) fn best(wishes: &[Wish]) -> BTreeSet<usize> {
    wishes.iter().filter_map(|wish| wish.ranked.first().copied()).collect()
}

/// The fewest packages that serve every device that can be served; among equally few those that stand highest in the
/// devices' lists.
pub(super) fn smallest(wishes: &[Wish]) -> BTreeSet<usize> {
    // Devices with the same list are one.
    let mut distinct: Vec<&Wish> = Vec::new();
    for wish in wishes.iter().filter(|wish| wish.wanted > 0) {
        if !distinct.contains(&wish) {
            distinct.push(wish);
        }
    }
    for most in 1..=distinct.len() {
        let mut found: Option<(usize, Vec<usize>)> = None;
        search(&distinct, most, &mut Vec::new(), &mut found);
        if let Some((_, packages)) = found {
            return packages.into_iter().collect();
        }
    }
    BTreeSet::new()
}

/// Tries each package that serves the first device which is not served yet.
fn search(wishes: &[&Wish], most: usize, packages: &mut Vec<usize>, found: &mut Option<(usize, Vec<usize>)>) {
    let Some(open) = wishes.iter().find(|wish| wish.rank(packages).is_none()) else {
        let cost = wishes.iter().filter_map(|wish| wish.rank(packages)).sum();
        if found.as_ref().is_none_or(|(least, _)| cost < *least) {
            *found = Some((cost, packages.clone()));
        }
        return;
    };
    if packages.len() == most {
        return;
    }
    for &candidate in open.candidates() {
        packages.push(candidate);
        search(wishes, most, packages, found);
        packages.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(ranked: &[usize], wanted: usize) -> Wish {
        Wish { ranked: ranked.to_vec(), wanted }
    }

    #[test]
    fn fewest_before_best_and_best_among_the_fewest() {
        let set = |packages: &[usize]| packages.iter().copied().collect::<BTreeSet<_>>();
        // 8.9 and 8.6 over sm_89 (0), sm_86 (1), sm_80 (2), PTX (3).
        let ada = wish(&[0, 1, 2, 3], 3);
        let ampere = wish(&[1, 2, 3], 2);
        assert_eq!(best(&[ada.clone(), ampere.clone()]), set(&[0, 1]));
        assert_eq!(smallest(&[ada.clone(), ampere.clone()]), set(&[1]));
        // PTX alone would serve both, but one has machine code.
        let hopper = wish(&[4, 3], 1);
        let unknown = wish(&[3], 1);
        assert_eq!(smallest(&[hopper, ada, unknown.clone(), unknown]), set(&[0, 3, 4]));
        assert_eq!(smallest(&[]), set(&[]));
        assert_eq!(smallest(&[wish(&[], 0)]), set(&[]));
    }
}
