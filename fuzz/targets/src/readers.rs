//! The readers of files and texts. What a reader takes is written and read again, where there is a writer.

use arbitrary::Unstructured;
use fenchel::causal::{Admg, identify};
use fenchel::crf::text::{self, Boundary, InstanceReader, Template};
use fenchel::crf::{CorpusBuilder, Instance};
use fenchel::datasets::alignment::column_distances;
use fenchel::datasets::table::Kind;
use fenchel::datasets::{
    AlignmentFormat, ConllOptions, Encoder, Header, IndexBase, LibsvmOptions, Separator,
    TableOptions, alignment, conll, decompress, idx, letters, libsvm, roll_calls, table,
    write_libsvm,
};
use fenchel::ggm::Ratings;
use fenchel::graphical::bif::{self, BifOptions};
use fenchel::graphical::{BayesNet, Prior, uai};
use fenchel::mrf::potts::{Alignment, Alphabet, Gaps};

use crate::{oracle, tree};

pub(crate) fn libsvm_text(bytes: &[u8]) {
    let Some((flags, text)) = bytes.split_first() else { return };
    let base = [IndexBase::Auto, IndexBase::Zero, IndexBase::One][usize::from(flags & 3) % 3];
    let columns = (flags & 4 != 0).then_some(usize::from(flags >> 3));
    let Ok(data) = libsvm(text, &LibsvmOptions { base, columns, ..LibsvmOptions::default() })
    else {
        return;
    };
    assert_eq!(data.x.rows(), data.y.len());
    let mut written = Vec::new();
    if write_libsvm(&mut written, &data).is_ok() {
        let options = LibsvmOptions {
            base: IndexBase::One,
            columns: Some(data.x.cols()),
            ..LibsvmOptions::default()
        };
        let again = libsvm(&written[..], &options).expect("written and not read");
        assert_eq!((again.x, again.y), (data.x, data.y));
    }
}

pub(crate) fn csv(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let header =
        [Header::Detect, Header::Present, Header::Absent][u.int_in_range(0..=2).unwrap_or(0)];
    let delimiter = *u.choose(b",;\t |\"\n\0").unwrap_or(&b',');
    let encoder = tree::like(
        &mut u,
        &[Encoder::default(), Encoder { standardise: false, ..Encoder::default() }],
    );
    let text = u.take_rest();
    let options = TableOptions { header, delimiter, ..TableOptions::default() };
    let Ok(read) = table(text, &options) else { return };
    let _ = read.design();
    for kind in [Kind::Text, Kind::Number, Kind::Date] {
        let kinds = read.names().iter().map(|name| (name.clone(), kind)).collect();
        let _ = table(text, &TableOptions { kinds, ..options.clone() });
    }
    let Some(Ok(fitted)) = encoder.map(|encoder| encoder.fit(&read)) else { return };
    oracle::model(&fitted);
    if let (Ok(dense), Ok(sparse)) = (fitted.transform(&read), fitted.transform_sparse(&read)) {
        assert_eq!(dense.x.dim(), (sparse.x.rows(), sparse.x.cols()));
    }
}

pub(crate) fn conll_text(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let seeds = [
        ConllOptions::default(),
        ConllOptions { separator: Separator::Tab, ..ConllOptions::default() },
        ConllOptions::universal(),
    ];
    let Some(options) = tree::like(&mut u, &seeds) else { return };
    let Ok(sentences) = conll(u.take_rest(), &options) else { return };
    for sentence in &sentences {
        assert_eq!(
            (0..sentence.len()).filter(|t| sentence.token(*t).len() == sentence.width()).count(),
            sentence.len()
        );
    }
}

pub(crate) fn idx_bytes(bytes: &[u8]) {
    let _ = idx::idx(bytes);
    let _ = idx::idx_rows(bytes);
    let _ = idx::idx_labels(bytes);
}

pub(crate) fn packed(bytes: &[u8]) {
    let Ok(from) = decompress(bytes) else { return };
    // A packed file may be a million times as long.
    let from = std::io::Read::take(from, 1 << 20);
    let _ = idx::idx(from);
}

pub(crate) fn words(bytes: &[u8]) {
    let _ = letters(bytes);
}

pub(crate) fn votes(bytes: &[u8]) {
    let at = bytes.iter().position(|byte| *byte == 0xFF).unwrap_or(bytes.len());
    let (votes, names) = (&bytes[..at], bytes.get(at + 1..).unwrap_or_default());
    let Ok(calls) = roll_calls(votes, names) else { return };
    for member in 0..=calls.members.len() {
        let _ = calls.party(member);
    }
}

pub(crate) fn sequences(bytes: &[u8]) {
    let Some((flags, text)) = bytes.split_first() else { return };
    if flags & 1 != 0 {
        let _ = column_distances(text);
        return;
    }
    let Ok(read) = alignment(text, AlignmentFormat::Auto) else { return };
    for alphabet in [Alphabet::protein(), Alphabet::nucleotides()] {
        for gaps in [Gaps::State, Gaps::Missing] {
            let _ = Alignment::new(read.letters.view(), alphabet.clone(), gaps);
        }
    }
}

pub(crate) fn crfsuite(bytes: &[u8]) {
    let (mut reader, mut instance) = (InstanceReader::new(bytes), Instance::new());
    let mut corpus = CorpusBuilder::new();
    while let Ok(true) = reader.read(&mut instance) {
        let _ = corpus.push(&instance);
        let mut written = Vec::new();
        if text::write_crfsuite(&instance, &mut written).is_ok() {
            let mut again = Instance::new();
            assert!(
                InstanceReader::new(&written[..]).read(&mut again).expect("written and not read")
            );
            assert_eq!(again, instance);
        }
    }
    if let Ok(corpus) = corpus.finish(1) {
        let file = serde_json::to_string(&corpus.attributes).expect("a vocabulary can be written");
        let again = serde_json::from_str(&file).expect("written and not read");
        assert!(corpus.attributes == again);
    }
}

pub(crate) fn template(bytes: &[u8]) {
    let Ok(template) = Template::parse(bytes) else { return };
    let file = serde_json::to_string(&template).expect("a template can be written");
    assert!(serde_json::from_str::<Template>(&file).expect("written and not read") == template);
    let tokens = [["the", "DT"], ["dog", "NN"], ["", ":"]];
    for boundary in [Boundary::Omit, Boundary::Symbol("_B".into())] {
        let mut template = template.clone();
        template.boundary = boundary;
        let _ = template.expand(&tokens, &["O", "B", "I"], &mut Instance::new());
        let _ = template.expand(&tokens[..0], &["O"; 0], &mut Instance::new());
    }
    let _ = (template.columns(), template.reads(0));
}

pub(crate) fn uai_text(bytes: &[u8]) {
    let at = bytes.iter().position(|byte| *byte == 0xFF).unwrap_or(bytes.len());
    let (text, evidence) = (&bytes[..at], bytes.get(at + 1..).unwrap_or_default());
    let Ok(model) = uai::read(text) else { return };
    let mut written = Vec::new();
    uai::write(&model, &mut written).expect("read and not written");
    assert_eq!(uai::read(&written[..]).expect("written and not read"), model);
    let evidence = uai::read_evidence(evidence, &model.cards);
    if let Ok(net) = model.bayes_net() {
        network(&net);
    }
    let Ok(graph) = model.factor_graph() else { return };
    crate::graphical::answers(&graph, evidence.ok().as_ref());
}

pub(crate) fn bif_text(bytes: &[u8]) {
    let options = BifOptions { max_memory: Some(1 << 24), ..BifOptions::default() };
    let Ok(net) = bif::read_with(bytes, &options) else { return };
    network(&net);
}

fn network(net: &BayesNet) {
    let mut written = Vec::new();
    if bif::write(net, &mut written).is_ok() {
        bif::read(&written[..]).expect("written and not read");
    }
}

pub(crate) fn records(bytes: &[u8]) {
    let Ok((net, data)) = BayesNet::from_csv(bytes) else { return };
    let mut written = Vec::new();
    if net.write_csv(data.view(), &mut written).is_ok() {
        assert_eq!(net.read_csv(&written[..]).expect("written and not read"), data);
    }
    network(&net);
    let _ = net.fit_cpts(data.view(), Prior::Bdeu(1.0));
}

pub(crate) fn graph(bytes: &[u8]) {
    let Ok(all) = std::str::from_utf8(bytes) else { return };
    let (graph, query) = all.split_once('?').unwrap_or((all, ""));
    let Ok(graph) = Admg::parse(graph) else { return };
    let again = Admg::parse(&graph.to_string())
        .unwrap_or_else(|error| panic!("shown and not parsed: {error}"));
    // The nodes are numbered as they come.
    let size = |graph: &Admg| (graph.len(), graph.directed().count(), graph.bidirected().count());
    assert_eq!(size(&again), size(&graph));
    let Ok(query) = graph.query(query) else { return };
    let _ = identify(&graph, query).map(|estimand| estimand.to_string());
}

pub(crate) fn ratings(bytes: &[u8]) {
    let _ = serde_json::from_slice::<Ratings>(bytes);
}
