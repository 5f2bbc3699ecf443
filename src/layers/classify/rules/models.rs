use super::{On, Rule};
use crate::Kind::{NotFound, Permission, UnsupportedParameter};

const UNKNOWN: &[&str] = &[
    "model_not_found",
    "model_not_found_error",
    "modelnotfound",
    "invalid_model",
    "invalid_model_error",
    "unknown_model",
    "model_not_available",
    "model_not_supported",
    "model_not_exist",
    "model_decommissioned",
    "model_deprecated",
    "model_retired",
    "model_removed",
    "unavailable_model",
    "not_found_error",
    "not_found",
    "notfound",
    "notfounderror",
    "deploymentnotfound",
    "deployment_not_found",
    "resourcenotfound*",
    "resource_not_found*",
    "model.notexist",
    "1211",
    "1500",
    "20012",
    "endpoint_not_found",
    "route_not_found",
];

/// A model that this key may not use is a matter of permission; one that is not there, of the name.
pub(super) const CODES: &[Rule] =
    &[Rule::codes(Permission, On::Only(&[403]), UNKNOWN), Rule::codes(NotFound, On::Refused, UNKNOWN)];

/// Models are retired, and so are parameters: "`temperature` is deprecated for this model".
pub(super) const RETIRED_PARAMETERS: &[Rule] =
    &[Rule::words(UnsupportedParameter, On::Of(&[400, 422]), &["deprecated for this model", "deprecated for model"])];

pub(super) const WORDS: &[Rule] = &[Rule::words(
    NotFound,
    On::Of(&[400, 422]),
    &[
        "model not exist",
        "version does not exist",
        "model is not supported when using",
        "model*does not exist",
        "model*doesn't exist",
        "not a valid model",
        "invalid model:",
        "invalid model name",
        "unknown model",
        "no such model",
        "model*not found",
        "model identifier is invalid",
        "supported api model names are",
        "supported by any provider",
        "model*not supported by provider",
        "model*not supported for provider",
        "no models loaded",
        "model*is not available",
        "could not find model",
        "cannot find model",
        "unable to access model",
        "unable to access non-serverless model",
        "model*decommissioned",
        "model*has been deprecated",
        "model*has been retired",
        "model*no longer available",
        "model*no longer supported",
        "model*was retired",
        "try pulling it first",
        "模型不存在",
        "model*end of its life",
        "no endpoints found",
        "model*has been removed",
        "model*was removed",
    ],
)];
