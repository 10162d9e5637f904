//! What is written to files and shown to people: accounts, settings, texts.

use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::random::Order;
use fenchel_optim::{
    Cadence, Certificate, Progress, Report, Solution, Status, StepSize, Stop, Trace,
};
use serde::{Serialize, de::DeserializeOwned};

#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e} in {text}"));
    assert_eq!(&back, value, "{text}");
}

const CERTIFICATES: [Certificate; 6] = [
    Certificate::Gap { objective: 0.1, lower_bound: -1e-300, rounding: 0.0 },
    Certificate::Residual { objective: Some(1.0 / 3.0), norm: 5e-324, error: 0.0, scale: None },
    Certificate::Residual { objective: None, norm: 1e300, error: 1e-17, scale: None },
    Certificate::Uncertified { objective: Some(-2.5) },
    Certificate::Uncertified { objective: None },
    Certificate::Gap { objective: f64::MAX, lower_bound: f64::MIN, rounding: 0.0 },
];

const STATUSES: [Status; 7] = [
    Status::Converged,
    Status::PassLimit,
    Status::TimeLimit,
    Status::Stalled,
    Status::NoiseFloor,
    Status::Diverged,
    Status::Stopped,
];

#[test]
fn accounts_come_back_from_json() {
    let mut trace = Trace::new();
    for certificate in CERTIFICATES {
        for status in STATUSES {
            let report = Report {
                status,
                certificate,
                passes: 10.0 / 3.0,
                oracle_calls: u64::MAX,
                seconds: 0.1 + 0.2,
            };
            comes_back(&report);
            comes_back(&Solution { state: vec![0.1, -0.0, 2e-308], report });
        }
        let (passes, oracle_calls, seconds) = (0.1, 1, 0.7);
        trace.rows.push(Progress { passes, oracle_calls, seconds, certificate });
    }
    comes_back(&trace);
}

#[test]
fn settings_come_back_from_json() {
    let unlimited = Stop { max_passes: f64::INFINITY, ..Stop::at_relative(1.0 / 3.0) };
    let limited = Stop { max_seconds: Some(0.1), check: Cadence::Doubling(0.5), ..Stop::default() };
    for stop in [Stop::default(), Stop::after_passes(3.0), unlimited, limited] {
        comes_back(&stop);
        comes_back(&LbfgsSettings { memory: 3, stop });
    }
    for step in [StepSize::Theory, StepSize::Scaled(0.1), StepSize::Constant(3.0)] {
        comes_back(&step);
    }
    let scripted = Order::Scripted(vec![2, 0, 1]);
    let weighted = Order::Weighted(vec![0.1, 3.0]);
    for order in [Order::Uniform, Order::Permuted, Order::Cyclic, weighted, scripted] {
        comes_back(&order);
    }
    // What a file leaves out is as by default.
    let stop: Stop = serde_json::from_str(r#"{"relative": 1e-6, "max_passes": 20}"#).unwrap();
    assert_eq!(stop, Stop { max_passes: 20.0, ..Stop::at_relative(1e-6) });
    assert_eq!(serde_json::from_str::<Stop>("{}").unwrap(), Stop::default());
    assert!(serde_json::from_str::<Stop>(r#"{"max_passes": "many"}"#).is_err());
}

#[test]
fn texts_say_what_happened() {
    let gap = Certificate::gap(0.5, 0.375);
    let report = |status, seconds| Report {
        status,
        certificate: gap,
        passes: 12.5,
        oracle_calls: 0,
        seconds,
    };
    let text = report(Status::Converged, 1.25).to_string();
    for fact in
        ["converged", "objective 0.500000,", "gap 0.125 (relative 0.25)", "12.5 passes", "1.2 s"]
    {
        assert!(text.contains(fact), "{fact} is not in: {text}");
    }
    let words =
        ["converged", "pass limit", "time limit", "stalled", "noise floor", "diverged", "observer"];
    for (status, word) in STATUSES.into_iter().zip(words) {
        assert!(report(status, 0.0).to_string().contains(word), "{status}");
    }
    let residual =
        Certificate::Residual { objective: Some(2.0), norm: 3e-7, error: 1e-9, scale: None };
    let text = residual.to_string();
    assert_eq!(text, "objective 2.00000, residual 3.0e-7 (known up to 1.0e-9)");
    let text =
        Certificate::Residual { objective: None, norm: 3e-7, error: 0.0, scale: None }.to_string();
    assert_eq!(text, "residual 3.0e-7");
    let known = Certificate::Uncertified { objective: Some(2.0) };
    assert!(known.to_string().contains("2.00000,"));
    for nothing in [known, Certificate::Uncertified { objective: None }] {
        assert!(nothing.to_string().contains("no certificate"));
    }
}
