//! `did you mean`: the known name closest to a misspelt one.

/// Longer names are not compared: no field name of Kubernetes comes near, and the cost grows with the square.
const MAX_COMPARED: usize = 64;

/// The hint for an unknown field, when one of the names its siblings may have comes close.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if name.is_empty() || name.chars().count() > MAX_COMPARED {
        return None;
    }
    let written = name.to_lowercase();
    // A third of the letters may differ: `replica` and `repilcas` are meant as `replicas`, `foo` as nothing.
    let allowed = (written.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&written, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min()
        .map(|(_, candidate)| format!("did you mean {candidate:?}?"))
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, to) in b.iter().enumerate() {
            let replaced = last[column] + usize::from(from != to);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *from == b[column - 1] && a[row - 1] == *to {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn a_swapped_or_missing_letter_leads_to_the_known_name() {
        let known = ["replicas", "selector", "paused"];
        for written in ["repilcas", "replica", "Replicas", "replicass"] {
            assert_eq!(did_you_mean(written, known).as_deref(), Some(r#"did you mean "replicas"?"#), "{written}");
        }
    }

    #[test]
    fn a_name_like_none_gets_no_hint() {
        assert_eq!(did_you_mean("frobnicate", ["replicas", "selector"]), None);
        assert_eq!(did_you_mean("x", ["y1"]), None);
        assert_eq!(did_you_mean("", ["a"]), None);
    }
}
