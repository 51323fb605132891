"""What pip 23 to 26 and uv 0.13 said, and what it is taken for."""

import pytest

from training.system.installer_words import find_cause, last_words

TUNNEL = (
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: {}'))': "
    "/simple/a/\nERROR: No matching distribution found for a"
)


@pytest.mark.parametrize(
    ("told", "kind", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "disk", "the disk is full"),
        (TUNNEL.format("407 Proxy Authentication Required"), "password", "the proxy wants a name and a password"),
        ("cause: tunnel error: proxy authorization required", "password", "the proxy wants a name and a password"),
        (TUNNEL.format("403 Forbidden"), "proxy", "the proxy lets nobody through to the package index (403 Forbidden)"),
        (
            "Failed to fetch: https://one.example/simple/a/\n cause: tunnel error: unsuccessful",
            "proxy",
            "the proxy lets nobody through to one.example",
        ),
        (
            "Looking in indexes: https://me:word@one.example/simple\n'ProxyError('Cannot connect to proxy.', NewConnectionError('...refused",
            "proxy",
            "one.example cannot be reached: the proxy does not answer",
        ),
        ("HTTPSConnectionPool(host='a.b', port=443): Max retries exceeded", "network", "a.b cannot be reached"),
        (
            "HTTPSConnectionPool(host='a.b', port=443): Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, "
            "'[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain",
            "certificate",
            "a.b could not prove who it is",
        ),
        ("cause: dns error", "network", "the package index cannot be reached"),
        ("invalid peer certificate: UnknownIssuer", "certificate", "the package index could not prove who it is"),
        (
            "Could not fetch URL https://a.b/simple/c/: 403 Client Error: Forbidden for url: https://a.b/simple/c/ - skipping\n"
            "ERROR: No matching distribution found for c",
            "refused",
            "a.b gives nothing: 403 Client Error: Forbidden",
        ),
        (
            "Could not fetch URL https://a.b/c/: 404 Client Error: Not Found for url: https://a.b/c/ - skipping\n"
            "ERROR: No matching distribution found for c>=2; python_version > '3'",
            "missing",
            "c>=2 is not to be had there",
        ),
        ("Because torch was not found in the provided package locations and", "missing", "torch is not to be had"),
        ("Because only torch<2 is available and you require torch>=2.7", "missing", "torch is not to be had"),
        ("Because there are no versions of torch-x and you require torch-x", "missing", "torch-x is not to be had"),
        ("Because torch==2.13.0+cpu has no wheels with a matching Python", "missing", "torch is not to be had"),
    ],
)
def test_why_an_installer_failed(told: str, kind: str, sentence: str) -> None:
    cause = find_cause(told)
    assert cause is not None
    assert (cause.kind, cause.sentence.startswith(sentence)) == (kind, True), cause.sentence


def test_what_is_not_known_is_told_in_its_own_words_and_without_passwords() -> None:
    told = "one\nERROR: it broke at https://me:word@one.example/a\ntwo\n"
    assert find_cause(told) is None
    assert last_words(told) == "ERROR: it broke at https://one.example/a"
    assert last_words("one\n\ntwo\n") == "one\ntwo"
