import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import type { TargetConfig } from "../core/scenario.ts";
import { checkHost, isLocalHost } from "../core/target-host.ts";
import { guardedLookup } from "./guarded-lookup.ts";
import { parseMysqlUrl } from "./mysql/parse-mysql-url.ts";
import { openTarget, withPassword } from "./open-target.ts";
import { parsePostgresUrl } from "./postgres/parse-postgres-url.ts";
import { createTargetFiles } from "./target-files.ts";

const options = { tag: "test", files: createTargetFiles({ dataDir: "/tmp" }) };

const local =
  `localhost LOCALHOST localhost. 127.0.0.1 127.1 127.8.9.1 2130706433 0x7f.1 0x7f000001 0177.0.0.1 ::1 0:0:0:0:0:0:0:1
  ::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:127.9.9.9 /run/postgresql`.split(/\s+/);
const beyond =
  `0.0.0.0 0 :: ::ffff:0.0.0.0 128.0.0.1 10.0.0.1 ::ffff:10.0.0.1 ::2 fe80::1 ::1%lo localhost.example.com
  a.localhost localhost.localdomain 127.0.0.1.nip.io 127.0.0.1.1 example.com%2f127.0.0.1 ⓛocalhost １２７.0.0.1 %6cocalhost
  127.0.0.256 localhost@evil localhost,evil 0127.0.0.1 localhost..`.split(/\s+/);

test("[OT1] what is on this machine may be loaded, whatever it is written like", () => {
  for (const host of local) {
    assert.equal(isLocalHost(host), true, host);
    checkHost(host, []);
  }
});

test("[OT1] what is not must be named", () => {
  for (const host of [...beyond, ""]) {
    assert.equal(isLocalHost(host), false, host);
    assert.throws(() => checkHost(host, ["db.example.com"]), { code: "forbidden" }, host);
  }
  checkHost("DB.example.com.", ["db.Example.com"]);
  checkHost("10.0.0.1", [" 10.1 "]);
  checkHost("2001:db8::1", ["[2001:DB8:0::1]"]);
  assert.throws(() => checkHost("sub.example.com", ["example.com", "*"]), { code: "forbidden" });
});

test("[OT5] a metadata service is not loaded, named or not", async () => {
  for (const host of `169.254.169.254 169.254.1 2852039166 0xa9fea9fe ::ffff:169.254.169.254 fe80::1 fd00:ec2::254
    100.100.100.200 metadata.google.internal METADATA metadata.google.internal. instance-data.ec2.internal`.split(
    /\s+/,
  )) {
    assert.throws(() => checkHost(host, [host]), { code: "forbidden" }, host);
  }
  checkHost("metadata-db.example.com", ["metadata-db.example.com"]);
  const found = (name: string) =>
    new Promise((resolve, reject) => {
      guardedLookup(name, { all: true }, (error, address) =>
        error === null ? resolve(address) : reject(error),
      );
    });
  // An address is a name that resolves to itself: what DNS says is judged as well.
  await assert.rejects(found("169.254.169.254"), { code: "forbidden" });
  assert.ok(await found("127.0.0.1"));
});

const base: TargetConfig = {
  kind: "postgres",
  url: "",
  passwordEnv: null,
  allowedHosts: [],
  tableName: "t",
  tableType: null,
  warehouse: null,
  loadSql: [],
  resetSql: [],
  resetData: false,
  scale: 1,
};

test("[OT2] [TH2] every host that an address names is judged, and the one that would be connected to", async () => {
  const refused: readonly (readonly [TargetConfig["kind"], string])[] = [
    ["postgres", "postgres://localhost@evil.example/d"],
    ["postgres", "postgres://localhost/d?host=evil.example"],
    ["postgres", "postgres://127.0.0.1:5432@evil.example/d"],
    ["postgres", "postgres://u@evil.example/d?host=/run/postgresql"],
    ["postgres", "postgres://localhost,evil.example/d"],
    ["postgres", "postgres://u:sesame@localhost/d"],
    ["mysql", "mysql://evil.example/d?socket=/run/mysqld/mysqld.sock"],
    ["mysql", "mysql://localhost:3306@evil.example/d"],
    ["mysql", "mysql://evil.example#@localhost/d"],
    ["http", "http://localhost@evil.example/"],
    ["http", "http://evil.example\\@localhost/"],
    ["http", "http://localhost.evil.example/"],
    ["http", "http://0.0.0.0:9090/"],
    ["http", "http+unix:///var/run/docker.sock"],
    ["mysql", "mysql://u@localhost/d?socket=/etc/shadow"],
    ["mysql", "mysql://u@localhost/d?socket=/etc/no-such-file"],
    ["postgres", "postgres://u@localhost/d?host=/etc/passwd"],
    ["snowflake", "snowflake://me@account/DB/PUBLIC"],
    ["snowflake", "snowflake://me@localhost/DB/PUBLIC"],
    ["snowflake", "snowflake://me@localhost/DB?access_url=https://localhost@evil.example"],
  ];
  for (const [kind, url] of refused) {
    const opening = openTarget({ ...base, kind, url }, null, realClock, options);
    await assert.rejects(opening, (error: { code?: string }) => {
      assert.ok(error.code === "forbidden" || error.code === "bad_request", `${url}: ${error}`);
      return true;
    });
  }
  const opened: readonly (readonly [TargetConfig["kind"], string])[] = [
    ["postgres", "postgres:///d?host=/run/postgresql"],
    ["postgres", "postgres://[::1]/d"],
    ["mysql", "mysql:///d?socket=/run/mysqld/mysqld.sock"],
    ["http", "http://2130706433/"],
    ["http", "http+unix:///tmp/targets/capstan.sock"],
    ["http", "http://[::ffff:127.0.0.1]:9090/"],
  ];
  for (const [kind, url] of opened) {
    const target = await openTarget({ ...base, kind, url }, null, realClock, options);
    assert.equal(target.kind, kind);
    await target.close();
  }
  const named = { ...base, url: "postgres://evil.example/d", allowedHosts: ["evil.example"] };
  await (await openTarget(named, "p@ss/w:rd", realClock, options)).close();
});

test("[OT3] a kind's target is opened by its kind; files need no host", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-open-"));
  const { signal } = new AbortController();
  for (const kind of ["sqlite", "duckdb"] as const) {
    const files = createTargetFiles({ dataDir: dir });
    const url = `${kind}://${files.pathOf(kind)}`;
    const target = await openTarget({ ...base, kind, url }, null, realClock, { tag: "t", files });
    assert.deepEqual(await target.run("SELECT 1", [], signal), [[1]]);
    await target.close();
  }
  rmSync(dir, { recursive: true });
});

test("[OT3] the secret is the password, whatever is in it, of a socket too", async () => {
  const secret = "p@ss/w:rd%41 ß?#";
  for (const url of ["postgres://u@h/d", "postgres:///d?host=/run/pg", "postgres://u:old@h/d"]) {
    const { password, host } = parsePostgresUrl(withPassword(url, secret));
    assert.deepEqual([password, host], [secret, url.includes("/run") ? "/run/pg" : "h"]);
  }
  const mysql = parseMysqlUrl(withPassword("mysql:///d?socket=/run/m", secret));
  assert.deepEqual([mysql.password, mysql.socketPath], [secret, "/run/m"]);
  const file = { ...base, kind: "sqlite" as const, url: "sqlite:///tmp/none.db" };
  const target = await openTarget(file, null, realClock, options);
  const { signal } = new AbortController();
  for (const asked of [target.pollServer(signal), target.statementFigures(signal)]) {
    await assert.rejects(asked, { code: "unsupported" });
  }
});
