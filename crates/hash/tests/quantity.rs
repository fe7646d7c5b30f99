//! How quantities print, compare and round.

use std::cmp::Ordering;

use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use tidegate_hash::quantity::{Quantity, canonical_text};

/// Text as written, text as hashed.
const PRINTED: &[(&str, &str)] = &[
    // Kept as written.
    ("8192M", "8192M"),
    ("128974848", "128974848"),
    ("1e3", "1e3"),
    ("1E3", "1E3"),
    ("5e0", "5e0"),
    ("1.500", "1.500"),
    ("1.125", "1.125"),
    ("+1", "+1"),
    ("-1", "-1"),
    ("01", "01"),
    ("1.", "1."),
    (" 1 ", "1"),
    ("1e+3", "1e+3"),
    ("123456789012345678", "123456789012345678"),
    // Canonical decimal and exponent forms.
    ("2000m", "2"),
    ("2.0", "2"),
    ("1.5", "1500m"),
    ("0.15", "150m"),
    (".5", "500m"),
    ("1000", "1k"),
    ("3000", "3k"),
    ("12e2", "1200"),
    ("1E4", "10e3"),
    ("1.5e3", "1500"),
    ("0.1n", "1n"),
    ("-0.1n", "-1n"),
    ("1.0000000001", "1000000001n"),
    ("1e-10", "1e-9"),
    ("0.0005", "500u"),
    ("1.0m", "1m"),
    ("1000000000000000000", "1E"),
    ("1234567890123456789", "1234567890123456789"),
    ("-1.5", "-1500m"),
    // Zero in any form.
    ("0", "0"),
    ("00", "0"),
    ("-0", "0"),
    ("0.000", "0"),
    ("0Ki", "0"),
    ("0e9", "0"),
    ("0n", "0"),
    // Binary.
    ("1024Mi", "1Gi"),
    ("0.5Gi", "512Mi"),
    ("1000Ki", "1000Ki"),
    ("1.5Ki", "1536"),
    ("0.5Ki", "512"),
    ("0.1Gi", "107374182400m"),
    ("+3Mi", "+3Mi"),
    ("03Mi", "03Mi"),
    ("+8Mi", "8Mi"),
    ("62.5Ki", "64k"),
    ("16Mi", "16Mi"),
    ("2Ti", "2Ti"),
    ("1.5Gi", "1536Mi"),
    ("1536Mi", "1536Mi"),
    ("-1024Mi", "-1Gi"),
    ("0.0005Ki", "512m"),
    ("8Ei", "9223372036854775807"),
    ("9Ei", "9223372036854775807"),
    ("-100Ei", "-9223372036854775807"),
    ("7Ei", "7Ei"),
];

fn quantity(text: &str) -> Quantity {
    text.parse().expect("a quantity")
}

#[test]
fn quantities_print_as_the_table_says() {
    for (written, printed) in PRINTED {
        assert_eq!(canonical_text(written).unwrap(), *printed, "{written}");
    }
}

#[test]
fn a_binary_value_that_lost_its_suffix_is_read_once_more() {
    assert_eq!(quantity("62.5Ki").to_string(), "64000");
    assert_eq!(canonical_text("62.5Ki").unwrap(), "64k");
}

#[test]
fn text_that_is_no_quantity_is_refused() {
    for text in
        ["", " ", "x", "1K", "1KB", "1 Gi", "1e", "1e+", "1e3Ki", "--1", "1,5", "1m3", "1.2.3", "0x10", "1e99999999999"]
    {
        assert!(text.parse::<Quantity>().is_err(), "{text:?}");
    }
}

#[test]
fn quantities_compare_by_value_across_formats() {
    for (left, right) in
        [("1", "1000m"), ("1Gi", "1073741824"), ("1e3", "1k"), ("1.5", "1.500"), ("-0", "0"), ("1n", "0.1n")]
    {
        assert_eq!(quantity(left), quantity(right));
        assert_eq!(quantity(left).cmp(&quantity(right)), Ordering::Equal);
    }
    let ascending =
        ["-2Gi", "-2", "-1500m", "0", "1n", "999m", "1", "1001m", "9", "10", "1k", "1Ki", "1M", "1Mi", "1e300"];
    for pair in ascending.windows(2) {
        assert!(quantity(pair[0]) < quantity(pair[1]), "{pair:?}");
        assert_ne!(quantity(pair[0]), quantity(pair[1]));
    }
}

#[test]
fn rounding_up_to_milli_goes_away_from_zero() {
    for (written, rounded) in [
        ("1n", "1m"),
        ("1.0001", "1001m"),
        ("-1u", "-1m"),
        ("999999u", "1"),
        ("2", "2"),
        ("1Gi", "1Gi"),
        ("0", "0"),
        ("0.0001Ki", "103m"),
    ] {
        assert_eq!(quantity(written).round_up_to_milli().to_string(), rounded, "{written}");
    }
    assert_eq!(quantity("+1").round_up_to_milli().to_string(), "1");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_never_panics_and_printing_keeps_the_value(text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i|[a-z]{0,2})?") {
        if let Ok(quantity) = text.parse::<Quantity>() {
            let printed = quantity.to_string();
            prop_assert_eq!(&printed.parse::<Quantity>().unwrap(), &quantity, "{} printed {}", text, printed);
            let twice = canonical_text(&text).unwrap();
            prop_assert_eq!(canonical_text(&twice).unwrap(), twice);
        }
    }

    #[test]
    fn any_text_is_refused_or_has_a_form_that_reads_back(text in ".{0,40}") {
        let reads_back = canonical_text(&text).map(|printed| printed.parse::<Quantity>());
        prop_assert_eq!(reads_back.and_then(|again| again), text.parse::<Quantity>());
    }
}
