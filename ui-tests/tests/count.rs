//! Counts the shapes, so that none gets lost unnoticed.
use std::{collections::BTreeMap, fs, path::Path};

const AT_LEAST: usize = 190;

#[test]
fn enough_distinct_shapes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shapes");
    let mut files = BTreeMap::new();
    let mut shapes = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder of the shapes") {
        let path = entry.expect("an entry of it").path();
        let file = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).expect("a shape file");
        for (line, mark) in text.lines().enumerate() {
            let Some(mark) = mark.trim_start().strip_prefix("// shape: ") else {
                continue;
            };
            let (name, guards) = mark
                .split_once(" — ")
                .unwrap_or_else(|| panic!("{file}:{}: `name — what it guards`", line + 1));
            assert!(!guards.is_empty(), "{file}:{}: says nothing", line + 1);
            let other = shapes.insert(name.to_owned(), file.clone());
            assert_eq!(other, None, "{file}:{}: `{name}` is taken", line + 1);
            *files.entry(file.clone()).or_insert(0) += 1;
        }
    }
    for (file, count) in &files {
        println!("{count:>4} {file}");
    }
    println!("{:>4} shapes", shapes.len());
    assert!(shapes.len() >= AT_LEAST, "only {} shapes", shapes.len());
}
