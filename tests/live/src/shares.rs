//! How far a measured share may be from the wanted one by chance alone.

/// The part of all outcomes that is left out on each side: together one in a thousand.
const TAIL: f64 = 0.0005;

/// Least and most of `count` requests that a share explains, all but once in a thousand measurements.
pub(crate) fn interval(count: u64, share: f64) -> (u64, u64) {
    if share <= 0.0 {
        return (0, 0);
    }
    if share >= 1.0 {
        return (count, count);
    }
    let probabilities = binomial(count, share);
    (tail(probabilities.iter().copied()), count - tail(probabilities.iter().rev().copied()))
}

/// The probability of each number of hits.
fn binomial(count: u64, share: f64) -> Vec<f64> {
    let (hit, miss) = (share.ln(), (1.0 - share).ln());
    // Of the ways to choose k of n, as a logarithm: they overflow soon.
    let mut ways = 0.0;
    let mut each = Vec::with_capacity(count as usize + 1);
    for hits in 0..=count {
        if hits > 0 {
            ways += ((count - hits + 1) as f64).ln() - (hits as f64).ln();
        }
        each.push((ways + hits as f64 * hit + (count - hits) as f64 * miss).exp());
    }
    each
}

/// How many outcomes from one end are too unlikely together.
fn tail(probabilities: impl Iterator<Item = f64>) -> u64 {
    let mut sum = 0.0;
    let mut outcomes = 0;
    for probability in probabilities {
        sum += probability;
        if sum > TAIL {
            break;
        }
        outcomes += 1;
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_everything_leave_no_room() {
        assert_eq!(interval(1000, 0.0), (0, 0));
        assert_eq!(interval(1000, 1.0), (1000, 1000));
    }

    #[test]
    fn a_fair_coin_stays_within_three_and_a_third_deviations() {
        // One deviation is 15.8 of 1000; tables give 448 and 552.
        assert_eq!(interval(1000, 0.5), (448, 552));
        assert_eq!(interval(10, 0.5), (0, 10));
    }

    #[test]
    fn the_interval_holds_all_but_one_in_a_thousand() {
        for share in [0.05, 0.235, 0.25, 0.9] {
            let (least, most) = interval(1200, share);
            let inside: f64 = binomial(1200, share)[least as usize..=most as usize].iter().sum();
            assert!((0.999..1.0).contains(&inside), "{share}: {inside}");
        }
    }
}
