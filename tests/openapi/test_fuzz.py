"""Schemathesis reads the OpenAPI document and sends what it allows, and what it does not."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.support.extent import volume
from tests.support.site import WEB, bearer

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    ignored_auth,
    unsupported_method,
    allow_header_conformance,
]
EXAMPLES = volume(4, 40)  # for each operation and mode
# Schemathesis takes these as refusals by itself, but for the one of a body that is too large.
REFUSED = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
CONFIG = {"checks": {"negative_data_rejection": {"expected-statuses": REFUSED}}}


@pytest.mark.slow
def test_no_generated_request_gets_an_answer_that_is_not_in_the_document(site_with):
    site = site_with(**WEB)
    site.first_party("web")
    site.user()
    keys = site.client()
    schema = schemathesis.openapi.from_wsgi(
        "/v1/openapi.json", site.app, config=schemathesis.Config.from_dict(CONFIG)
    )
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 10
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if mode is GenerationMode.NEGATIVE and operation.body.items == []:
                continue
            # A guarded endpoint gets a good token, so that its view runs.
            guarded = {"bearer": []} in operation.definition.raw["security"]
            fuzz(operation, mode, bearer(site.login(keys)["access_token"]) if guarded else {})


def fuzz(operation, mode, headers):
    """Send generated requests and look at every answer."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        case.call_and_validate(headers=headers, checks=CHECKS)

    send()
