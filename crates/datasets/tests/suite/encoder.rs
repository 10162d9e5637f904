//! The encoder, against what scikit-learn 1.9.1 makes of the same table.

use fenchel_datasets::encoder::{MissingNumber, MissingText, Unknown};
use fenchel_datasets::table::{Column, Texts};
use fenchel_datasets::{Encoder, FittedEncoder, Table, TableOptions, table};
use fenchel_linalg::AsDesign;
use fenchel_optim::model::Saved;
use ndarray::{Array2, Axis, array};

const CUSTOMERS: &str = "plan,city,since,age,spent
pro,Paris,2024-03-01,31,10.5
basic,,2023-11-15,,20
basic,Rome,,45,
free,Paris,2022-01-31,28,3.25
pro,Rome,2024-02-29,,7
basic,Oslo,2021-07-04,60,100
";

fn customers() -> Table {
    table(CUSTOMERS.as_bytes(), &TableOptions::default()).unwrap()
}

fn new(text: &str, encoder: &FittedEncoder) -> Table {
    table(text.as_bytes(), &encoder.options()).unwrap()
}

fn columns(x: &Array2<f64>, which: std::ops::Range<usize>) -> Array2<f64> {
    x.select(Axis(1), &which.collect::<Vec<_>>())
}

fn close(x: &Array2<f64>, expected: &Array2<f64>) {
    assert_eq!(x.dim(), expected.dim());
    let worst = (x - expected).iter().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    assert!(worst < 1e-12, "{x}\n{expected}");
}

/// `OneHotEncoder` for texts; `SimpleImputer` and then `StandardScaler` for numbers and days.
#[test]
fn texts_become_indicators_and_numbers_are_filled_and_scaled() {
    let encoder = Encoder::default().fit(&customers()).unwrap();
    let x = encoder.transform(&customers()).unwrap();
    let names = [
        "plan=basic",
        "plan=free",
        "plan=pro",
        "city=Oslo",
        "city=Paris",
        "city=Rome",
        "city missing",
        "since",
        "age",
        "spent",
    ];
    assert_eq!(x.names()[..], names);
    let indicators = array![
        [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(columns(&x, 0..7), indicators);
    let by_means = array![
        [0.9740373650109355, -0.9637388493048533, -0.5318573634879253],
        [0.6906714105352142, 0.0, -0.2455885276162375],
        [0.0, 0.38549553972194134, 0.0],
        [-1.0386553957511973, -1.2528605040963092, -0.7503256856005293],
        [0.9713890850625643, 0.0, -0.6373248293353893],
        [-1.5974424648575263, 1.8311038136792213, 2.165096406040081],
    ];
    close(&columns(&x, 7..10), &by_means);

    let encoder = Encoder { missing_numbers: MissingNumber::Median, ..Encoder::default() };
    let x = encoder.fit(&customers()).unwrap().transform(&customers()).unwrap();
    let by_medians = array![
        [0.8318120205496444, -0.859419469006961, -0.43475642905622525],
        [0.5573909942429263, -0.1909821042237691, -0.15395057686126953],
        [0.5573909942429263, 0.4774552605594227, -0.43475642905622525],
        [-1.1173466709747095, -1.1458926253426145, -0.6490556320471125],
        [0.8292473380607966, -0.1909821042237691, -0.5382112167069983],
        [-1.6584946761216026, 1.909821042237691, 2.2107302837278313],
    ];
    close(&columns(&x, 7..10), &by_medians);
}

/// `SimpleImputer(strategy="most_frequent")` and `OneHotEncoder(drop="first")`; `SimpleImputer(strategy="median",
/// add_indicator=True)`.
#[test]
fn indicators_first_levels_and_the_commonest() {
    let encoder = Encoder {
        standardise: false,
        missing_numbers: MissingNumber::Median,
        missing_texts: MissingText::Commonest,
        indicators: true,
        drop_first: true,
        ..Encoder::default()
    };
    let encoder = encoder.fit(&customers()).unwrap();
    let x = encoder.transform(&customers()).unwrap();
    let names = [
        "plan=free",
        "plan=pro",
        "city=Paris",
        "city=Rome",
        "since",
        "since missing",
        "age",
        "age missing",
        "spent",
        "spent missing",
    ];
    assert_eq!(x.names()[..], names);
    let expected = array![
        [0.0, 1.0, 1.0, 0.0, 19783.0, 0.0, 31.0, 0.0, 10.5, 0.0],
        [0.0, 0.0, 1.0, 0.0, 19676.0, 0.0, 38.0, 1.0, 20.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 19676.0, 1.0, 45.0, 0.0, 10.5, 1.0],
        [1.0, 0.0, 1.0, 0.0, 19023.0, 0.0, 28.0, 0.0, 3.25, 0.0],
        [0.0, 1.0, 0.0, 1.0, 19782.0, 0.0, 38.0, 1.0, 7.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 18812.0, 0.0, 60.0, 0.0, 100.0, 0.0],
    ];
    assert_eq!(x.x, expected);
    assert_eq!(encoder.transform_sparse(&customers()).unwrap().to_dense(), expected);
    // A column without gaps in the fit gets no indicator: its fill is enough.
    let three = encoder.transform(&new("plan,city,since,age,spent\npro,,,,\n", &encoder)).unwrap();
    assert_eq!(three.row(0).to_vec(), [0.0, 1.0, 1.0, 0.0, 19676.0, 1.0, 38.0, 1.0, 10.5, 1.0]);
}

#[test]
fn a_sparse_design_is_the_dense_one() {
    for drop_first in [false, true] {
        for indicators in [false, true] {
            let encoder = Encoder { drop_first, indicators, ..Encoder::default() };
            let encoder = encoder.fit(&customers()).unwrap();
            let dense = encoder.transform(&customers()).unwrap();
            let sparse = encoder.transform_sparse(&customers()).unwrap();
            assert_eq!(sparse.names, dense.names);
            assert_eq!(sparse.to_dense(), dense.x);
            sparse.as_design().unwrap();
        }
    }
}

/// Columns in another order and others beside them, and one row alone.
#[test]
fn a_new_row_is_read_by_name() {
    let encoder = Encoder { except: vec!["spent".into()], ..Encoder::default() };
    let encoder = encoder.fit(&customers()).unwrap();
    let all = encoder.transform(&customers()).unwrap();
    let row = new("age,colour,since,plan,city\n28,red,2022-01-31,free,Paris\n", &encoder);
    assert_eq!(encoder.transform(&row).unwrap().row(0), all.row(3));
    // From arrays: dates as texts, and a column without any value.
    let row = Table::new([
        ("plan", Column::from(vec!["basic"])),
        ("city", Column::from(vec![None::<&str>])),
        ("since", vec!["2023-11-15"].into()),
        ("age", vec![f64::NAN].into()),
    ]);
    assert_eq!(encoder.transform(&row.unwrap()).unwrap().row(0), all.row(1));
    let row = Table::new([
        ("plan", Column::from(vec!["basic"])),
        ("city", vec![f64::NAN].into()),
        ("since", Column::Dates(vec![19676.0])),
        ("age", vec![""].into()),
    ]);
    let error = encoder.transform(&row.unwrap()).unwrap_err().to_string();
    assert_eq!(error, "table: column \"age\" holds \"\" in row 0; expected a number");
}

#[test]
fn unknown_levels_are_refused_or_zeros() {
    let strict = Encoder::default().fit(&customers()).unwrap();
    let rows = "plan,city,since,age,spent\npro,Rome,2024-01-01,1,2\ngold,Rome,2024-01-01,1,2\n";
    let error = strict.transform(&new(rows, &strict)).unwrap_err().to_string();
    assert_eq!(
        error,
        "table: column \"plan\" holds \"gold\" in row 1; expected one of the 3 levels of the fit, [\"basic\", \"free\", \"pro\"]"
    );
    let lenient = Encoder { unknown: Unknown::Zeros, ..Encoder::default() };
    let lenient = lenient.fit(&customers()).unwrap();
    let x = lenient.transform(&new(rows, &lenient)).unwrap();
    assert_eq!(x.row(1).to_vec()[..3], [0.0, 0.0, 0.0]);
    assert_eq!(x.row(0).to_vec()[..3], [0.0, 0.0, 1.0]);
    // No plan was missing in the fit, some cities were.
    let gap = "plan,city,since,age,spent\n,,2024-01-01,1,2\n";
    let error = strict.transform(&new(gap, &strict)).unwrap_err().to_string();
    assert!(error.contains("column \"plan\" holds no value in row 0; expected one of"), "{error}");
    let x = lenient.transform(&new(gap, &lenient)).unwrap();
    assert_eq!(x.row(0).to_vec()[..7], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn missing_cells_are_refused_if_asked() {
    let refuse = |encoder: Encoder| encoder.fit(&customers()).unwrap_err().to_string();
    let numbers = Encoder { missing_numbers: MissingNumber::Refuse, ..Encoder::default() };
    let expected = "has no value in row 2, and the encoder refuses missing cells";
    assert_eq!(refuse(numbers.clone()), format!("table: column \"since\" {expected}"));
    let texts = Encoder { missing_texts: MissingText::Refuse, ..Encoder::default() };
    assert_eq!(
        refuse(texts.clone()),
        format!("table: column \"city\" {}", expected.replace('2', "1"))
    );
    // They come with the new rows alone.
    let whole = customers().select(&[0, 3, 5]).unwrap();
    let both = Encoder { missing_texts: MissingText::Refuse, ..numbers }.fit(&whole).unwrap();
    for row in ["pro,,2024-01-01,1,2\n", "pro,Paris,2024-01-01,,2\n"] {
        let row = new(&format!("plan,city,since,age,spent\n{row}"), &both);
        let error = both.transform(&row).unwrap_err().to_string();
        assert!(error.contains("has no value in row 0, and the encoder refuses"), "{error}");
    }
}

#[test]
fn bad_tables_are_refused_by_name() {
    let fit = |encoder: Encoder, text: &str| {
        let table = table(text.as_bytes(), &TableOptions::default()).unwrap();
        encoder.fit(&table).unwrap_err().to_string()
    };
    let except = |name: &str| Encoder { except: vec![name.into()], ..Encoder::default() };
    assert_eq!(
        fit(except("left"), "a,b\n1,2\n"),
        "table: there is no column \"left\"; the columns are [\"a\", \"b\"]"
    );
    assert_eq!(fit(except("a"), "a\n1\n"), "table (columns that are features) is empty");
    assert_eq!(
        fit(Encoder::default(), "a,b\n1,\n2,NA\n"),
        "table: column \"b\" has no value in any row; name it in `except`"
    );
    let none = customers().select(&[]).unwrap();
    assert_eq!(Encoder::default().fit(&none).unwrap_err().to_string(), "table (rows) is empty");

    let encoder = Encoder::default().fit(&customers()).unwrap();
    let refused = |columns: Vec<(&str, Column)>| {
        encoder.transform(&Table::new(columns).unwrap()).unwrap_err().to_string()
    };
    let plan = || ("plan", Column::from(vec!["pro"]));
    assert!(refused(vec![plan()]).starts_with("table: there is no column \"city\""));
    assert_eq!(
        refused(vec![("plan", vec![1.0].into())]),
        "table: column \"plan\" holds no texts, as it did in the fit; read the table with the `options` of the encoder"
    );
    let city = || ("city", Column::from(vec!["Rome"]));
    assert_eq!(
        refused(vec![plan(), city(), ("since", vec![19783.0].into())]),
        "table: column \"since\" holds numbers; expected dates, as in the fit"
    );
    assert_eq!(
        refused(vec![plan(), city(), ("since", vec!["yesterday"].into())]),
        "table: column \"since\" holds \"yesterday\" in row 0; expected a date such as 2024-03-01"
    );
}

/// In a table that is no CSV, such as a Parquet file, a text may be empty, `NA` or have blanks around it.
#[test]
fn a_level_of_the_fit_is_not_missing() {
    let texts: Texts = [Some("NA"), Some(""), Some(" x"), Some("y"), None].into_iter().collect();
    let codes = Table::new([("code", Column::Texts(texts))]).unwrap();
    let encoder = Encoder::default().fit(&codes).unwrap();
    let all = encoder.transform(&codes).unwrap();
    assert_eq!(all.names[..], ["code=", "code= x", "code=NA", "code=y", "code missing"]);
    let encoded = |text: Option<&str>| encoder.encode(|_| text).unwrap().x;
    for (row, text) in [Some("NA"), Some(""), Some(" x"), Some("y"), None].into_iter().enumerate() {
        assert_eq!(encoded(text).row(0), all.x.row(row), "{text:?}");
    }
    // Blanks around a level do not count, and what is no level is read as a cell of CSV.
    assert_eq!(encoded(Some(" NA ")), encoded(Some("NA")));
    assert_eq!(encoded(Some("null")), encoded(None));
    assert!(encoder.encode(|_| Some("x")).unwrap_err().to_string().contains("holds \"x\""));
}

/// A column of names would make a design of rows x rows.
#[test]
fn too_many_levels_need_a_sparse_design() {
    let names: Vec<String> = (0..2000).map(|k| format!("name {k}")).collect();
    let texts: Texts = names.iter().map(|name| Some(name.as_str())).collect();
    let people = Table::new([("name", Column::Texts(texts))]).unwrap();
    let encoder = Encoder { max_memory: Some(1 << 20), ..Encoder::default() }.fit(&people).unwrap();
    let error = encoder.transform(&people).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "the dense design needs 30.52 MiB, max_memory is 1 MiB: use transform_sparse"
        ),
        "{error}"
    );
    assert_eq!(encoder.transform_sparse(&people).unwrap().nnz(), 2000);
}

#[test]
fn an_encoder_is_saved_bit_for_bit() {
    let encoder = Encoder { indicators: true, ..Encoder::default() }.fit(&customers()).unwrap();
    let mut file = vec![];
    encoder.save(&mut file).unwrap();
    let loaded = FittedEncoder::load(&file[..]).unwrap();
    assert_eq!(loaded, encoder);
    assert_eq!(loaded.transform(&customers()).unwrap(), encoder.transform(&customers()).unwrap());
    let edited = |from: &str, to: &str| {
        let text = serde_json::to_string(&encoder).unwrap();
        assert!(text.contains(from), "{text}");
        serde_json::from_str::<FittedEncoder>(&text.replacen(from, to, 1)).unwrap().check()
    };
    assert!(edited("\"free\"", "\"a\"").unwrap_err().contains("levels of column \"plan\""));
    assert!(edited("\"plan=free\"", "\"plan=fee\"").unwrap_err().contains("names"));
}

#[test]
fn an_encoder_says_what_it_has_learnt() {
    let encoder = Encoder { except: vec!["spent".into()], ..Encoder::default() };
    let text = encoder.fit(&customers()).unwrap().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "plan: 3 levels, basic, free, pro");
    // Days 19783, 19676, 19023, 19782, 18812: mean 19415.2.
    assert!(lines[2].starts_with("since: days since 1970, centre 19415.2, scale 377."), "{text}");
    assert_eq!(lines[3], "age: numbers, centre 41.0000, scale 10.3763, missing 41.0000");
}

#[test]
fn a_table_by_hand_is_checked() {
    let refused = |columns: Vec<(&str, Column)>| Table::new(columns).unwrap_err().to_string();
    assert_eq!(refused(vec![]), "table is empty");
    assert_eq!(
        refused(vec![("a", vec![1.0].into()), ("b", vec!["x", "y"].into())]),
        "table: column \"b\" has 2 rows; expected 1, as column \"a\""
    );
    assert_eq!(
        refused(vec![("a", vec![1.0].into()), ("a", vec![2.0].into())]),
        "table: two columns have the name \"a\""
    );
    assert!(
        refused(vec![("a", vec![f64::INFINITY].into())])
            .starts_with("table: column \"a\" is inf in row 0")
    );
    let customers = customers();
    let error = customers.design().unwrap_err().to_string();
    assert_eq!(error, "table: column \"plan\" holds texts; expected numbers");
    assert!(customers.texts("age").unwrap_err().to_string().contains("holds no texts"));
    let error = customers.texts("city").unwrap_err().to_string();
    assert_eq!(error, "table: column \"city\" has no value in row 1; expected a text");
    assert!(customers.select(&[6]).unwrap_err().to_string().contains("no row 6 of 6"));
    assert!(customers.clone().without(&["plan", "colour"]).is_err());
    let numbers = customers.without(&["plan", "city"]).unwrap().select(&[5, 0]).unwrap();
    let x = numbers.design().unwrap();
    assert_eq!(
        (x.names.of(2), x.x),
        ("spent".into(), array![[18812.0, 60.0, 100.0], [19783.0, 31.0, 10.5]])
    );
}
