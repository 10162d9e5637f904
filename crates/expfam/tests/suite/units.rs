//! Families of vectors and matrices whose entries have very different sizes: values in 1300 digits by mpmath, and changes of units,
//! which change nothing.
// Reference values have a digit more than a double holds.
#![allow(clippy::excessive_precision)]

use fenchel_expfam::families::*;
use fenchel_expfam::*;
use fenchel_optim::random::stream;
use rand::RngExt;

use super::{cases, random::moved};

fn close(found: f64, value: f64, what: &str) {
    assert!((found - value).abs() <= 1e-13 * value.abs(), "{what}: {found:e}, not {value:e}");
}

fn information(family: &dyn Family, eta: &[f64]) -> impl Fn(usize, usize) -> f64 {
    let k = eta.len();
    let mut out = vec![0.0; k * k];
    family.fisher(eta, &mut out);
    move |i, j| out[i * k + j]
}

fn mean(family: &dyn Family, eta: &[f64], mu: &[f64]) {
    let mut found = vec![0.0; mu.len()];
    family.mean(eta, &mut found);
    found.iter().zip(mu).for_each(|(found, mu)| close(*found, *mu, family.name()));
}

#[test]
fn normals_of_distant_units_have_their_values() {
    let family = NormalVector::new(2).unwrap();
    let (p, q) = ([3e200, -2e-150, -1e300, 2e20, -1e-250], [3e200, -2e-150, -1e300, 2e20, -3e-250]);
    close(family.log_partition(&p), 2.250_000_000_449_999_7e100, "A");
    close(family.conjugate_at(&p), 57.257_774_505_311_087, "A*");
    close(family.kl(&p, &q), 6.000_000_002_799_998_7e90, "kl");
    close(family.kl(&q, &p), 2.000_000_000_666_666_2e90, "kl");
    let (location, covariance) = (
        [1.500_000_000_3e-100, 2.121_320_343_983_906_4e170],
        [5.000_000_000_999_999_7e-301, 7.071_067_813_279_688_1e-31, 5.000_000_000_999_999_7e249],
    );
    let mut c = [0.0; 5];
    family.centred_from_natural(&p, &mut c);
    for (found, value) in c[..2].iter().zip(location) {
        close(*found, value, "mean");
    }
    // The packed entry off the diagonal is sqrt(2) times that of the matrix.
    close(c[2], covariance[0], "covariance");
    close(c[3], covariance[1] * std::f64::consts::SQRT_2, "covariance");
    close(c[4], covariance[2], "covariance");
    let fisher = information(&family, &p);
    close(fisher(0, 3), 3.000_000_001_199_999_4e-130, "Fisher");
    close(fisher(3, 3), 2.250_000_002_699_999_5e50, "Fisher");
    close(fisher(2, 4), 9.000_000_005_399_997_1e40, "Fisher");
    // 9e590
    assert_eq!(fisher(4, 4), f64::INFINITY);

    let family = NormalVectorZeroMean::new(2).unwrap();
    let (p, q) = ([-1e300, 2e20, -1e-250], [-2e300, 5e19, -1e-251]);
    close(family.log_partition(&p), -58.257_774_505_311_087, "A");
    close(family.kl(&p, &q), 0.854_718_956_308_300_2, "kl");
}

/// The variance of `x_2^2` is `4 m_2^2 + 2`, however far away the other mean is.
#[test]
fn means_of_distant_sizes_keep_their_information() {
    let family = NormalVector::new(2).unwrap();
    for (far, near) in [(1e200, 0.0), (1e200, 1.0), (1e-200, 3.0), (-1e154, 1e-3)] {
        let eta = [far, near, -0.5, 0.0, -0.5];
        let fisher = information(&family, &eta);
        close(fisher(4, 4), 4.0 * near * near + 2.0, "Fisher");
        close(fisher(1, 4), 2.0 * near, "Fisher");
    }
}

#[test]
fn wishart_laws_of_distant_units_have_their_values() {
    let family = Wishart::new(2).unwrap();
    let p = [-1e300, 2e20, -1e-250, 4e40];
    close(family.log_partition(&p), 2.794_005_660_490_446_2e42, "A");
    mean(
        &family,
        &p,
        &[
            4.000_000_000_799_999_9e-260,
            80_000_000_015.999_994,
            4.000_000_000_799_999_9e290,
            71.850_141_512_261_152,
        ],
    );
    let fisher = information(&family, &p);
    close(fisher(1, 1), 4.000_000_002_399_999_7e-10, "Fisher");
    close(fisher(0, 2), 8.000_000_003_199_998_5e-20, "Fisher");
    let (p, q) = ([-1e300, 2e20, -1e-250, 0.25], [-1.5e300, 1e20, -4e-250, 3.75]);
    close(family.kl(&p, &q), 3.200_816_852_929_108_3, "kl");
    let (family, p) = (InverseWishart::new(2).unwrap(), [-1e300, 2e20, -1e-250, -4.25]);
    close(family.log_partition(&p), -315.432_998_961_399_25, "A");
    close(family.conjugate_at(&p), -173.452_681_459_689_99, "A*");
}

#[test]
fn conjugate_laws_of_distant_units_have_their_values() {
    let (p, q) = ([1.5, -3e-100, 2e-200, -1e-300], [2.5, -2.5e-100, 1e-200, -4e-300]);
    close(NormalGamma.log_partition(&p), 804.171_914_596_516_13, "A");
    close(NormalGamma.kl(&p, &q), 3.983_738_434_911_772_9, "kl");
    let fisher = information(&NormalGamma, &p);
    close(fisher(1, 2), 4.999_999_999_999_999_2e299, "Fisher");
    close(fisher(0, 2), 4.999_999_999_999_999_5e199, "Fisher");
    // 3e600
    assert_eq!(fisher(3, 3), f64::INFINITY);

    let family = NormalWishart::new(2).unwrap();
    let p = [0.75, -3e200, 1e30, -2e-140, 3e110, -2e-60, -4e20];
    let q = [1.75, -4e200, -1e30, -1e-140, 3e109, -1e-60, -2e20];
    close(family.log_partition(&p), -292.005_571_949_813_84, "A");
    close(family.conjugate_at(&p), 182.835_963_054_055_15, "A*");
    close(family.kl(&p, &q), 2.590_253_131_389_397_1, "kl");
    mean(
        &family,
        &p,
        &[
            -139.559_478_527_678_25,
            7.370_052_286_337_515_7e-201,
            1.977_995_328_177_719_4e-31,
            1.026_542_997_025_582_5e140,
            2.414_106_129_949_124_5e-111,
            -2.041_862_276_422_790_2e59,
            3.915_755_367_836_619_3e-21,
        ],
    );
    let fisher = information(&family, &p);
    close(fisher(6, 6), 1.447_412_727_435_921_1e-41, "Fisher");
    close(fisher(4, 5), 9.057_115_421_066_935e-53, "Fisher");
    close(fisher(2, 4), -4.716_253_843_804_072_7e-142, "Fisher");
    close(fisher(3, 6), 2.382_400_889_073_405_2e118, "Fisher");
}

/// The exponents of the coordinates of a matrix, if entry `i` of a vector has the exponent `units[i]`.
fn of_matrix(units: &[i32]) -> Vec<i32> {
    (0..units.len()).flat_map(|i| (0..=i).map(move |j| units[i] + units[j])).collect()
}

/// Powers of two do not round: a divergence of near members is the same in all units, to the last bit, and the information is that
/// of the units.
#[test]
fn units_change_nothing() {
    let units = |n: usize| {
        let mut rng = stream(35, n as u64);
        (0..n).map(|_| rng.random_range(-200..200)).collect::<Vec<i32>>()
    };
    for (family, etas) in cases::others() {
        let k = family.dimension();
        let exponents: Vec<i32> = match (family.name(), k) {
            ("multivariate normal", _) => {
                let own = units(if k == 5 { 2 } else { 3 });
                [own.clone(), of_matrix(&own)].concat()
            }
            ("multivariate normal of mean 0", 3) => of_matrix(&units(2)),
            ("Wishart" | "inverse Wishart", _) => {
                [of_matrix(&units(if k == 4 { 2 } else { 3 })), vec![0]].concat()
            }
            // A location has the unit of the weight, and over it that of the deviations.
            ("normal-gamma", 4) => vec![0, 300, 120, -60],
            ("normal-Wishart", _) => {
                let own = units(if k == 7 { 2 } else { 3 });
                let location = own.iter().map(|u| u + 50).collect();
                [vec![0], of_matrix(&own), location, vec![100]].concat()
            }
            _ => continue,
        };
        let mut rng = stream(36, 0);
        for i in 0..cases::problems(40) {
            let p = moved(&*family, &etas[i % etas.len()], &[1e-3, 0.5, 3.0], &mut rng);
            let q = moved(&*family, &p, &[1e-3, 0.5, 3.0], &mut rng);
            let other = |eta: &[f64]| -> Vec<f64> {
                eta.iter().zip(&exponents).map(|(e, &u)| libm::scalbn(*e, u)).collect()
            };
            let (there, to) = (other(&p), other(&q));
            assert!(family.check_natural(&there).is_ok(), "{there:?}");
            let name = family.name();
            let (kl, own) = (family.kl(&there, &to), family.kl(&p, &q));
            // Far members need logarithms of determinants, which are not relative; so do gamma laws of small shape that are close.
            let exact = own < 0.01 && name != "normal-gamma";
            let equal = kl == own || !exact && (kl - own).abs() <= 1e-12 * (1.0 + own);
            assert!(equal, "{name} {p:?} {q:?}: {kl:e} {own:e}");
            let (here, there) = (information(&*family, &p), information(&*family, &there));
            for (row, a) in exponents.iter().enumerate() {
                for (column, b) in exponents.iter().enumerate() {
                    let value = libm::scalbn(there(row, column), a + b);
                    assert_eq!(here(row, column), value, "{name} {p:?} {row} {column}");
                }
            }
        }
    }
}
