use super::{On, Rule};
use crate::Kind::{Auth, Permission};

/// Before money: some countries are told to enable billing.
pub(super) const COUNTRY: &[Rule] = &[
    Rule::words(
        Permission,
        On::Refused,
        &[
            "not available in your country",
            "not available in your region",
            "location is not supported",
            "country, region, or territory",
            "is not supported in your region",
            "not supported in your country",
        ],
    ),
    // Read as a plan without credit they would be told to pay, which helps nobody.
    Rule::words(Permission, On::Only(&[400, 401, 403]), &["missing scope", "insufficient authentication scopes"]),
];

/// A bad key, whatever the status: Google says it with a 400.
pub(super) const KEY_CODES: &[Rule] = &[
    Rule::codes(Auth, On::Any, &["api_key_invalid", "api_key_expired", "base_resp 1004", "base_resp 2049"]),
    Rule::codes(Auth, On::Only(&[498]), &[]).from("cohere"),
];

pub(super) const WORDS: &[Rule] = &[
    Rule::words(
        Permission,
        On::Refused,
        &["organization has been disabled", "only authorized for use with", "organization has been restricted"],
    ),
    Rule::words(
        Auth,
        On::Of(&[400, 401, 403, 498]),
        &[
            "incorrect api key",
            "invalid api key",
            "invalid api-key",
            "invalid x-api-key",
            "api key not valid",
            "api key not found",
            "api key expired",
            "api key has expired",
            "api key is invalid",
            "api key you provided is invalid",
            "api key provided is invalid",
            "api-key you provided",
            "api key you provided",
            "reported as leaked",
            "invalid access token",
            "invalid credentials",
            "invalid authentication",
            "no api key",
            "missing api key",
            "api key is missing",
            "provide an api key",
            "provide a valid api key",
            "no auth credentials",
            "missing authentication",
            "authentication fails",
            "authentication failed",
            "unregistered callers",
            "bearer token",
            "security token included in the request",
            "api key is required",
            "unable to authenticate",
            "api key*has been deleted",
            "api key*revoked",
        ],
    ),
];

/// NOTE: not under a 400, where a JSON parser complains of tokens.
pub(super) const TOKEN_WORDS: &[Rule] = &[Rule::words(
    Auth,
    On::Only(&[401, 403, 498]),
    &["invalid token", "token is invalid", "token has expired", "token is expired", "expired token"],
)];

/// Not in a 401: there they are how some spell a bad key.
pub(super) const CODES: &[Rule] = &[
    Rule::codes(Permission, On::Of(&[400, 401, 403]), &["missing_scope", "missing_scopes", "permissiondenied"]),
    Rule::codes(
        Permission,
        On::Of(&[400, 403]),
        &[
            "permission_error",
            "permission_denied",
            "permission-denied",
            "permissiondeniederror",
            "accessdenied*",
            "access_denied",
            "access_denied_error",
            "model.accessdenied",
            "forbidden",
            "request_forbidden",
            "unsupported_country_region_territory",
            "organization_on_hold",
            "organization_restricted",
            "model_terms_required",
            "1112",
            "base_resp 2061",
            "service_disabled",
            "consumer_*",
            "api_key_service_blocked",
            "api_key_http_referrer_blocked",
            "api_key_ip_address_blocked",
            "access_token_scope_insufficient",
            "insufficient_permissions",
            "ip_not_authorized",
            "user_suspended",
            "permission_denied_error",
            "team_model_access_denied",
            "key_model_access_denied",
            "workspace.accessdenied",
        ],
    ),
    Rule::codes(
        Auth,
        On::Of(&[400, 401, 403]),
        &[
            "invalid_api_key",
            "invalidapikey",
            "invalid-api-key",
            "incorrect_api_key_error",
            "invalid_key",
            "expired_key",
            "authentication_error",
            "authenticationerror",
            "auth_error",
            "unauthorized",
            "unauthenticated",
            "unauthenticated:*",
            "authentication",
            "wrong_api_key",
            "unauthorized_error",
            "account_deactivated",
            "invalid_authentication_error",
            "invalid_token",
            "token_expired",
            "access_token_expired",
            "token_not_found_in_db",
            "expiredtoken*",
            "unrecognizedclient*",
            "invalidsignature*",
            "signaturedoesnotmatch*",
            "missingauthenticationtoken*",
            "incompletesignature*",
            "invalidclienttokenid*",
            "requestexpired",
            "credentials_missing",
            "invalid_credentials",
            "no_api_key",
            "key_expired",
        ],
    ),
];
