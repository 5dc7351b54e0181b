"""Who may use a NATS server, and over what: passwords, creds files, TLS; and that no secret is ever shown."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import nkeys
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from log_samples import StepClock, all_numbers, notes
from nats.aio.client import Srv
from nats_servers import Server, running, single

from recollect.engine.replicate import replicate
from recollect.engine.sync import sync
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.packs.nats_client import StrictClient
from recollect.events.packs.store import StoreUnreachable
from recollect.events.packs.urls import open_packs

PASSWORD = "correct-horse"
USERS = f'authorization {{ users: [ {{ user: alice, password: "{PASSWORD}" }} ] }}\n'


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CREDS", "USER", "PASSWORD", "TOKEN", "CA", "CERT", "KEY"):
        monkeypatch.delenv(f"NATS_{name}", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def written(where: str) -> list[int]:
    """Append to the log there, and read it back."""
    with open_packs(where, clock=StepClock())[0] as log:
        log.append(notes(log.head, 1))
        return all_numbers(log)


def refused(where: str) -> str:
    with pytest.raises((StoreUnreachable, InvalidInput)) as caught:
        written(where)
    return str(caught.value)


def everything_in(*folders: Path) -> bytes:
    return b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())


def test_a_password_opens_a_server_and_is_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = single(tmp_path / "server", more=USERS)
    there, plain = f"nats://alice:{PASSWORD}@127.0.0.1:{server.port}/n", f"nats://127.0.0.1:{server.port}/n"
    with running(server):
        assert written(there) == [0]
        assert "Authorization Violation" in refused(plain)
        assert "wrong" not in refused(there.replace(PASSWORD, "wrong"))
        made = replicate(there, str(tmp_path / "copy"))
        level = sync(tmp_path / "copy", there)
        assert (made.source, level.remote) == (plain, plain)
        for odd in ("?sync=no", "?option=1", "?monitor=host", "/a.b"):
            assert PASSWORD not in refused(there + odd)
        with pytest.raises(RecollectError) as caught:
            sync(tmp_path / "copy", f"nats://alice:{PASSWORD}@127.0.0.1:{server.port}/n_side")
        assert PASSWORD not in str(caught.value)
        monkeypatch.setenv("NATS_USER", "alice")
        monkeypatch.setenv("NATS_PASSWORD", PASSWORD)
        assert written(plain) == [0, 1]
    assert PASSWORD.encode() not in everything_in(
        tmp_path / "data", tmp_path / "copy", tmp_path / "server" / "js"
    )


def test_a_creds_file_opens_a_server_with_an_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, creds = with_operator(tmp_path)
    there = f"nats://127.0.0.1:{server.port}/n"
    with running(server):
        assert written(f"{there}?creds={creds}") == [0]
        assert "Authorization Violation" in refused(there)
        monkeypatch.setenv("NATS_CREDS", str(creds))
        assert written(there) == [0, 1]
        assert "cannot be read" in refused(f"{there}?creds={tmp_path}/missing")
        seed = creds.read_text("ascii").splitlines()[-2]
        creds.write_text(creds.read_text("ascii").replace(seed, seed[:20]), "ascii")
        assert "holds no NATS credentials" in (said := refused(there))
        assert seed[:20] not in said
    assert seed.encode() not in everything_in(tmp_path / "data", tmp_path / "server" / "js")


def test_tls_is_spoken_with_whom_the_authority_vouches_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates(tmp_path)
    files = f"cert_file: {tmp_path}/server.pem, key_file: {tmp_path}/server.key, ca_file: {tmp_path}/ca.pem"
    server = single(tmp_path / "server", more=f"tls {{ {files}, verify: true }}\n")
    there = f"tls://localhost:{server.port}/n"
    with running(server):
        assert "CERTIFICATE_VERIFY_FAILED" in refused(there)
        monkeypatch.setenv("NATS_CA", f"{tmp_path}/ca.pem")
        monkeypatch.setenv("NATS_CERT", f"{tmp_path}/client.pem")
        monkeypatch.setenv("NATS_KEY", f"{tmp_path}/client.key")
        assert written(there) == [0]
        monkeypatch.setenv("NATS_CA", f"{tmp_path}/missing")
        assert "NATS_CA" in refused(there)


def test_a_server_without_tls_is_sent_nothing_by_who_asked_for_it(nats_server: Server) -> None:
    assert "offers no TLS" in refused(f"tls://alice:{PASSWORD}@localhost:{nats_server.port}/plain")
    assert PASSWORD not in (nats_server.folder / "server.log").read_text()


def certificates(folder: Path) -> None:
    """An authority, and certificates of it for a server at localhost and for a client."""
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "server", "client")}
    names = {name: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in keys}
    hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    for name, key in keys.items():
        made = (
            x509.CertificateBuilder()
            .subject_name(names[name])
            .issuer_name(names["ca"])
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - timedelta(days=2))
            .not_valid_after(datetime.now(UTC) + timedelta(days=2))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .sign(keys["ca"], hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        (folder / f"{name}.pem").write_bytes(made.public_bytes(pem))
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (folder / f"{name}.key").write_bytes(secret)


def with_operator(folder: Path) -> tuple[Server, Path]:
    """A server whose users come with a JWT of an account of its operator, and the creds file of one."""
    seeds = {
        "operator": nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_OPERATOR),
        "account": nkeys.encode_seed(bytes(range(1, 33)), nkeys.PREFIX_BYTE_ACCOUNT),
        "system": nkeys.encode_seed(bytes(range(3, 35)), nkeys.PREFIX_BYTE_ACCOUNT),
        "user": nkeys.encode_seed(bytes(range(2, 34)), nkeys.PREFIX_BYTE_USER),
    }
    pairs = {name: nkeys.from_seed(bytearray(seed)) for name, seed in seeds.items()}
    free = dict.fromkeys(("subs", "data", "payload"), -1)
    system = free | dict.fromkeys(("conn", "leaf", "imports", "exports"), -1) | {"wildcards": True}
    limits = {
        "system": system,
        "account": system | dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1),
    }

    def token(kind: str, issuer: str, more: dict[str, object]) -> str:
        claims = {
            "jti": kind, "iat": 1, "name": kind, "iss": pairs[issuer].public_key.decode(),
            "sub": pairs[kind].public_key.decode(), "nats": {"type": kind, "version": 2, **more},
        }  # fmt: skip
        head = ".".join(_plain(json.dumps(one)) for one in ({"typ": "JWT", "alg": "ed25519-nkey"}, claims))
        return f"{head}.{_plain(pairs[issuer].sign(head.encode()))}"

    accounts = {
        pairs[name].public_key.decode(): token(name, "operator", {"type": "account", "limits": limited})
        for name, limited in limits.items()
    }
    preloaded = "\n".join(f"{key}: {made}" for key, made in accounts.items())
    first = pairs["system"].public_key.decode()
    creds = folder / "user.creds"
    creds.write_text(
        f"-----BEGIN NATS USER JWT-----\n{token('user', 'account', dict(free))}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seeds['user'].decode()}\n------END USER NKEY SEED------\n",
        "ascii",
    )
    operator = token("operator", "operator", {"system_account": first})
    more = f"operator: {operator}\nsystem_account: {first}\nresolver: MEMORY\nresolver_preload {{\n{preloaded}\n}}\n"
    return single(folder / "server", more=more), creds


def _plain(data: str | bytes) -> str:
    raw = data.encode() if isinstance(data, str) else data
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_every_connection_to_a_server_that_does_not_greet_is_closed_the_last_one_too():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        server = Srv(urlparse(f"nats://127.0.0.1:{silent.getsockname()[1]}"))

        async def try_twice() -> list[bytes]:
            client = StrictClient()
            client.options["connect_timeout"] = 60
            for _ in range(2):
                await client._connect_to_server(server)
            client._status = StrictClient.CLOSED  # as after any attempt that failed
            await client.close()
            left = []
            for _ in range(2):
                with silent.accept()[0] as one:
                    one.settimeout(60)
                    left.append(await asyncio.to_thread(one.recv, 1))
            return left

        assert asyncio.run(try_twice()) == [b"", b""]
