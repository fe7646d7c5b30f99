//! Our copy of the vectors passes, and only the content of the rows decides.

use std::fs;
use std::path::{Path, PathBuf};

use tidegate_compat::run;

fn own_vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

#[test]
fn every_row_of_our_copy_passes_and_every_deviation_covers_one() {
    let report = run(&own_vectors(), true).unwrap();
    let (passed, failed, deviations) = report.totals();
    assert_eq!(failed, 0, "{report}");
    assert!(passed + deviations >= 3750, "rows went missing: {report}");
    assert!(report.files.iter().all(|file| file.table.is_some()), "{report}");
}

#[test]
fn shuffled_rows_under_other_names_give_the_same_totals() {
    let folder = std::env::temp_dir().join(format!("tidegate-compat-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (index, entry) in fs::read_dir(own_vectors()).unwrap().enumerate() {
        let mut rows: Vec<String> =
            fs::read_to_string(entry.unwrap().path()).unwrap().lines().map(str::to_owned).collect();
        let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
        for i in (1..rows.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            rows.swap(i, (seed >> 33) as usize % (i + 1));
        }
        fs::write(folder.join(format!("{index}-renamed.jsonl")), rows.join("\n")).unwrap();
    }

    let shuffled = run(&folder, true).unwrap();

    let own = run(&own_vectors(), true).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(shuffled.totals(), own.totals());
    assert_eq!(shuffled.by_section(), own.by_section());
}

#[test]
fn a_changed_answer_fails_whether_or_not_a_deviation_covers_the_row() {
    let folder = std::env::temp_dir().join(format!("tidegate-compat-wrong-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let text = fs::read_to_string(own_vectors().join("validation.jsonl")).unwrap();
    let wrong = text.replace("must be greater than or equal to 0", "must be a nice number");
    fs::write(folder.join("a.jsonl"), &wrong).unwrap();

    let report = run(&folder, false).unwrap();

    fs::remove_dir_all(&folder).unwrap();
    let touched = text.lines().filter(|line| line.contains("must be greater than or equal to 0")).count();
    assert!(touched > 0);
    assert_eq!(report.totals().1, touched);
}

#[test]
fn a_row_that_lost_its_answer_fails_instead_of_hiding_its_file() {
    let folder = std::env::temp_dir().join(format!("tidegate-compat-lost-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let text = fs::read_to_string(own_vectors().join("step-hash.jsonl")).unwrap();
    fs::write(folder.join("a.jsonl"), text.replacen("\"hash\"", "\"hush\"", 1)).unwrap();

    let report = run(&folder, false).unwrap();

    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(report.totals().1, 1, "{report}");
}

#[test]
fn a_folder_without_vectors_and_a_line_that_is_no_json_are_errors() {
    let folder = std::env::temp_dir().join(format!("tidegate-compat-bad-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    assert!(run(&folder, false).unwrap_err().to_string().contains("no vector file"));
    fs::write(folder.join("a.jsonl"), "{}\nnonsense").unwrap();
    let error = run(&folder, false).unwrap_err().to_string();
    fs::remove_dir_all(&folder).unwrap();
    assert!(error.contains("a.jsonl, line 2"), "{error}");
    assert!(run(&folder, false).unwrap_err().to_string().starts_with("cannot read "));
}

#[test]
fn every_recorded_text_of_the_command_line_is_ours_byte_for_byte() {
    let report = run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cli"), false).unwrap();
    assert_eq!(report.totals().1, 0, "{report}");
    assert!(report.totals().0 >= 16, "samples went missing: {report}");
}
