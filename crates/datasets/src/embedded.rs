//! Small real data sets that are part of the crate, for examples and tests.
//!
//! | function | task | samples x features | `y` |
//! |---|---|---|---|
//! | [`breast_cancer`] | two classes | 569 x 30 | +1 benign (357), -1 malignant (212) |
//! | [`wine`] | three classes | 178 x 13 | cultivar 0, 1, 2 (59, 71, 48) |
//! | [`wine_alcohol`] | regression | 178 x 12 | alcohol, per cent by volume |
//! | [`iris`] | three classes | 150 x 4 | 0 setosa, 1 versicolor, 2 virginica (50 each) |
//! | [`digits`] | ten classes | 1,797 x 64 | the digit; pixels 0 to 16, row by row |
//!
//! Features are in their original units, so scale them before fitting. The file `DATA-LICENSES.md` of this crate has the
//! licence and origin of every set (all CC BY 4.0).

use ndarray::{Array1, Array2, Axis};

use crate::{Dataset, Error, TableOptions, decompress, table};

/// Breast Cancer Wisconsin (Diagnostic): 30 measurements of cell nuclei, +1 benign, -1 malignant.
///
/// Columns 0 to 9 are means over the nuclei of an image, columns 10 to 19 their standard errors, and columns 20 to 29 the means
/// of the three largest values. Each group has radius, texture, perimeter, area, smoothness, compactness, concavity, concave
/// points, symmetry, fractal dimension ([`BREAST_CANCER_FEATURES`]).
///
/// ```
/// let data = fenchel_datasets::embedded::breast_cancer();
/// assert_eq!(data.x.dim(), (569, 30));
/// assert_eq!(data.y.iter().filter(|&&y| y == 1.0).count(), 357);
/// ```
pub fn breast_cancer() -> Dataset<Array2<f64>> {
    let Dataset { x, y } = with_last_as_target(include_bytes!("../data/breast_cancer.csv"));
    Dataset { x, y: y.mapv(|benign| if benign == 1.0 { 1.0 } else { -1.0 }) }
}

/// The columns of [`breast_cancer`].
pub const BREAST_CANCER_FEATURES: [&str; 30] = [
    "mean radius",
    "mean texture",
    "mean perimeter",
    "mean area",
    "mean smoothness",
    "mean compactness",
    "mean concavity",
    "mean concave points",
    "mean symmetry",
    "mean fractal dimension",
    "radius error",
    "texture error",
    "perimeter error",
    "area error",
    "smoothness error",
    "compactness error",
    "concavity error",
    "concave points error",
    "symmetry error",
    "fractal dimension error",
    "worst radius",
    "worst texture",
    "worst perimeter",
    "worst area",
    "worst smoothness",
    "worst compactness",
    "worst concavity",
    "worst concave points",
    "worst symmetry",
    "worst fractal dimension",
];

/// Wine: 13 chemical measurements of wines of one region; the class is the cultivar, 0, 1 or 2.
///
/// The features are [`WINE_FEATURES`].
pub fn wine() -> Dataset<Array2<f64>, Array1<usize>> {
    classes(with_last_as_target(include_bytes!("../data/wine.csv")))
}

/// The columns of [`wine`].
pub const WINE_FEATURES: [&str; 13] = [
    "alcohol",
    "malic acid",
    "ash",
    "alcalinity of ash",
    "magnesium",
    "total phenols",
    "flavanoids",
    "nonflavanoid phenols",
    "proanthocyanins",
    "colour intensity",
    "hue",
    "od280/od315 of diluted wines",
    "proline",
];

/// A regression task from [`wine`]: the target is the alcohol content, and the features are the other twelve measurements
/// (`WINE_FEATURES[1..]`). The cultivar is not used.
pub fn wine_alcohol() -> Dataset<Array2<f64>> {
    let mut x = wine().x;
    let y = x.column(0).to_owned();
    x.remove_index(Axis(1), 0);
    Dataset { x: x.as_standard_layout().into_owned(), y }
}

/// Iris: sepal length and width, petal length and width in centimetres; 0 setosa, 1 versicolor,
/// 2 virginica.
///
/// The values are those of Fisher's paper; the copy most often found online differs in two rows.
pub fn iris() -> Dataset<Array2<f64>, Array1<usize>> {
    classes(with_last_as_target(include_bytes!("../data/iris.csv")))
}

/// Handwritten digits, 8 x 8 pixels with 0 to 16 dots each, row by row (the test part of "Optical
/// Recognition of Handwritten Digits").
pub fn digits() -> Dataset<Array2<f64>, Array1<usize>> {
    classes(with_last_as_target(include_bytes!("../data/digits.csv.gz")))
}

/// An embedded table. Its bytes are part of the program, and the tests below read all of them, so that an error cannot occur.
fn with_last_as_target(bytes: &[u8]) -> Dataset<Array2<f64>> {
    read(bytes).expect("embedded data is well formed")
}

fn read(bytes: &[u8]) -> Result<Dataset<Array2<f64>>, Error> {
    let table = table(decompress(bytes)?, &TableOptions::default())?;
    let target = table.names()[table.names().len() - 1].clone();
    let y = table.numbers(&target)?;
    Ok(Dataset { x: table.without(&[&target])?.design()?.x, y })
}

fn classes(data: Dataset<Array2<f64>>) -> Dataset<Array2<f64>, Array1<usize>> {
    Dataset { x: data.x, y: data.y.mapv(|class| class as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the smallest and largest value and the mean of a column. The last two are rounded as in the published
    /// descriptions.
    fn check_column(x: &Array2<f64>, column: usize, low: f64, high: f64, mean: f64, digits: i32) {
        let values = x.column(column);
        let unit = 0.5 * 10f64.powi(-digits) + 1e-9;
        assert_eq!(values.iter().copied().fold(f64::INFINITY, f64::min), low);
        assert_eq!(values.iter().copied().fold(f64::NEG_INFINITY, f64::max), high);
        let found = values.sum() / values.len() as f64;
        assert!((found - mean).abs() <= unit, "mean {found}, expected {mean}");
    }

    fn counts(y: &Array1<usize>, classes: usize) -> Vec<usize> {
        (0..classes).map(|class| y.iter().filter(|&&y| y == class).count()).collect()
    }

    // The numbers below are those of the descriptions published with each set.

    #[test]
    fn breast_cancer_is_what_its_description_says() {
        let data = breast_cancer();
        assert_eq!(data.x.dim(), (569, 30));
        let benign = data.y.iter().filter(|&&y| y == 1.0).count();
        let malignant = data.y.iter().filter(|&&y| y == -1.0).count();
        assert_eq!((benign, malignant), (357, 212));
        for (column, low, high) in [(0, 6.981, 28.11), (3, 143.5, 2501.0), (20, 7.93, 36.04)] {
            let values = data.x.column(column);
            assert_eq!(values.iter().copied().fold(f64::INFINITY, f64::min), low);
            assert_eq!(values.iter().copied().fold(0.0, f64::max), high);
        }
        // Malignant nuclei are the larger ones.
        let mean = |sign: f64| {
            let radii = data.x.column(0);
            let of = radii.iter().zip(&data.y).filter(|(_, y)| **y == sign).map(|(r, _)| *r);
            let (sum, n) = of.fold((0.0, 0.0), |(sum, n), r| (sum + r, n + 1.0));
            sum / n
        };
        assert!(mean(-1.0) > mean(1.0) + 4.0);
    }

    #[test]
    fn wine_is_what_its_description_says() {
        let data = wine();
        assert_eq!(data.x.dim(), (178, 13));
        assert_eq!(counts(&data.y, 3), [59, 71, 48]);
        check_column(&data.x, 0, 11.03, 14.83, 13.0, 1);
        check_column(&data.x, 1, 0.74, 5.80, 2.34, 2);
        check_column(&data.x, 11, 1.27, 4.00, 2.61, 2);
    }

    #[test]
    fn wine_alcohol_moves_one_column() {
        let (wine, task) = (wine(), wine_alcohol());
        assert_eq!(task.x.dim(), (178, 12));
        assert!(task.x.is_standard_layout());
        assert_eq!(task.y, wine.x.column(0));
        assert_eq!(task.x.column(11), wine.x.column(12));
    }

    #[test]
    fn iris_is_what_its_description_says() {
        let data = iris();
        assert_eq!(data.x.dim(), (150, 4));
        assert_eq!(counts(&data.y, 3), [50, 50, 50]);
        check_column(&data.x, 0, 4.3, 7.9, 5.84, 2);
        check_column(&data.x, 1, 2.0, 4.4, 3.05, 1);
        check_column(&data.x, 2, 1.0, 6.9, 3.76, 2);
        check_column(&data.x, 3, 0.1, 2.5, 1.20, 2);
        // The two rows that are wrong in the other copy, as Fisher printed them.
        assert_eq!(data.x.row(34).to_vec(), [4.9, 3.1, 1.5, 0.2]);
        assert_eq!(data.x.row(37).to_vec(), [4.9, 3.6, 1.4, 0.1]);
    }

    #[test]
    fn digits_are_what_their_description_says() {
        let data = digits();
        assert_eq!(data.x.dim(), (1797, 64));
        assert_eq!(counts(&data.y, 10), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert!(data.x.iter().all(|&pixel| (0.0..=16.0).contains(&pixel) && pixel.fract() == 0.0));
    }

    #[test]
    fn the_feature_names_are_those_of_the_file() {
        let names = |text: &[u8]| table(text, &TableOptions::default()).unwrap().names().to_vec();
        assert_eq!(names(include_bytes!("../data/wine.csv"))[..13], WINE_FEATURES);
        let tumours = names(include_bytes!("../data/breast_cancer.csv"));
        assert_eq!(tumours[..30], BREAST_CANCER_FEATURES);
    }
}
