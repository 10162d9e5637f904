//! Small texts with labels.

/// Columns word, part of speech, chunk.
pub(crate) const COLUMNS: &str = "\
The DT B-NP
dog NN I-NP
barks VBZ B-VP

A DT B-NP
cat NN I-NP
sleeps VBZ B-VP
in IN B-PP
the DT B-NP
house NN I-NP

Dogs NNS B-NP
bark VBP B-VP

She PRP B-NP
sees VBZ B-VP
the DT B-NP
old JJ I-NP
house NN I-NP
";

/// The same as attributes, one of them with a colon, one with a value.
pub(crate) fn attributes() -> String {
    let mut text = String::new();
    for line in COLUMNS.lines() {
        if let [word, tag, label] = line.split(' ').collect::<Vec<_>>()[..] {
            text += &format!("{label}\tw\\:{word}\tp={tag}\tlength:{}", word.len());
        }
        text.push('\n');
    }
    text
}

/// A sentence of CoNLL-U with comments, a multiword token, empty nodes and a note; words in column 1, labels in column 3.
pub(crate) fn universal() -> String {
    let words = [("vamos", "VERB"), ("nos", "PRON"), ("a", "ADP"), ("el", "DET"), ("mar", "NOUN")];
    let line = |(t, (word, tag)): (usize, (&str, &str))| {
        format!("{}\t{word}\t_\t{tag}\t_\t_\t0\t_\t_\t_\n", t + 1)
    };
    let lines: Vec<String> = words.into_iter().enumerate().map(line).collect();
    let rest = "\t_".repeat(8);
    let (vamos, end) = (&lines[0], lines[3..].concat());
    let nos = lines[1].replace("\t_\n", "\tSpaceAfter=No\n");
    format!(
        "# text = vamonos al mar\n1-2\tvamonos{rest}\n{vamos}{nos}# inside\n2.1\tya{rest}\n{}{end}5.1\tx{rest}\n# end\n\n",
        lines[2]
    )
}

/// The labels of the training text, as `tag` writes them.
pub(crate) fn truth() -> String {
    let label = |line: &str| line.rsplit(' ').next().unwrap_or_default().to_owned() + "\n";
    COLUMNS.lines().map(label).collect::<String>() + "\n"
}
