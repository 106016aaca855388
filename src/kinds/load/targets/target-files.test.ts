import assert from "node:assert/strict";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { OperatingError } from "../../../ground/kernel/errors.ts";
import { createTargetFiles } from "./target-files.ts";

let root: string;
let data: string;
before(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "capstan-files-")));
  data = join(root, "data");
  for (const dir of ["data/lake", "data/targets", "elsewhere"]) {
    mkdirSync(join(root, dir), { recursive: true });
  }
  for (const name of ["data/store.sqlite", "data/cluster-token", "elsewhere/a.db"]) {
    writeFileSync(join(root, name), "");
  }
});
after(() => rmSync(root, { recursive: true }));

const refused = { code: "forbidden" };

test("[FT1] a database is in its folder, or is one that an operator named", () => {
  const files = createTargetFiles({ dataDir: data, allowed: [join(root, "elsewhere/a.db")] });
  assert.equal(files.resolve(files.pathOf("new.db")), join(data, "targets/new.db"));
  assert.equal(files.resolve(`${data}/targets/../targets/new.db`), join(data, "targets/new.db"));
  assert.equal(files.resolve(join(root, "elsewhere/a.db")), join(root, "elsewhere/a.db"));
  for (const path of [
    ...["store.sqlite", "cluster-token", "lake/x.db", "new.db", "targets", "targets/../x.db"],
    ...["targets-2/x.db", "targets/../../elsewhere/b.db"],
  ]) {
    assert.throws(() => files.resolve(join(data, path)), refused, path);
  }
  for (const path of ["/etc/passwd", "/nowhere/at/all.db", join(root, "elsewhere/b.db"), "/"]) {
    assert.throws(() => files.resolve(path), refused, path);
  }
});

test("[FT1] links are followed, in directories too, and judged by where they lead", () => {
  const files = createTargetFiles({ dataDir: data, allowed: [join(root, "named.db")] });
  symlinkSync(join(root, "elsewhere"), join(data, "targets/dir"));
  symlinkSync(join(root, "elsewhere/a.db"), join(data, "targets/link.db"));
  symlinkSync(join(data, "store.sqlite"), join(data, "targets/store.db"));
  symlinkSync(join(root, "elsewhere/not-yet.db"), join(data, "targets/dangling.db"));
  symlinkSync(join(data, "targets"), join(root, "way-in"));
  for (const name of ["dir/a.db", "dir/new.db", "link.db", "store.db", "dangling.db"]) {
    assert.throws(() => files.resolve(files.pathOf(name)), refused, name);
  }
  assert.equal(files.resolve(join(root, "way-in/x.db")), join(data, "targets/x.db"));
  // A name that an operator gave and that leads into the data directory opens nothing there.
  symlinkSync(join(data, "store.sqlite"), join(root, "named.db"));
  assert.throws(() => files.resolve(join(root, "named.db")), refused);
});

test("[FT2] hard links, directories and linked companions are refused", () => {
  const files = createTargetFiles({ dataDir: data });
  linkSync(join(data, "store.sqlite"), join(data, "targets/hard.db"));
  mkdirSync(join(data, "targets/folder.db"));
  symlinkSync(join(data, "cluster-token"), join(data, "targets/c.db-wal"));
  symlinkSync(join(root, "elsewhere"), join(data, "targets/d.db.tmp"));
  symlinkSync(join(data, "cluster-token"), join(data, "targets/e.db.wal.checkpoint"));
  symlinkSync(join(data, "cluster-token"), join(data, "targets/f.db.wal.recovery"));
  for (const name of ["hard.db", "folder.db", "c.db", "d.db", "e.db", "f.db"]) {
    assert.throws(() => files.resolve(files.pathOf(name)), refused, name);
  }
});

test("[FT3] an operator cannot allow Capstan's own files", () => {
  for (const path of ["store.sqlite", "lake/x.db", "."]) {
    const create = () => createTargetFiles({ dataDir: data, allowed: [join(data, path)] });
    assert.throws(create, { code: "bad_request" }, path);
  }
});

test("[FT5] a socket is a server's usual one, or one that an operator named, by itself or by its directory", () => {
  const allowed = [join(root, "elsewhere/own.sock"), join(root, "run")];
  mkdirSync(join(root, "run"));
  symlinkSync(join(data, "store.sqlite"), join(root, "run/linked.sock"));
  const files = createTargetFiles({ dataDir: data, allowed });
  for (const path of [
    ...["/run/postgresql/.s.PGSQL.5432", "/var/run/postgresql/.s.PGSQL.6000"],
    ...["/tmp/.s.PGSQL.5432", "/run/mysqld/mysqld.sock", "/tmp/mysql.sock"],
    ...["elsewhere/own.sock", "run/.s.PGSQL.5432", "data/targets/x.sock"].map((each) =>
      join(root, each),
    ),
  ]) {
    files.checkSocket(path);
  }
  for (const path of [
    ...["/var/run/docker.sock", "/etc/shadow", "/etc/no-such-file", "/root/.ssh/agent"],
    ...["/run/postgresql/../docker.sock", "/etc/passwd/.s.PGSQL.5432", "/tmp/.s.PGSQL.5432/x"],
    ...["elsewhere/other.sock", "run/linked.sock", "data/store.sqlite", "data/targets"].map(
      (each) => join(root, each),
    ),
  ]) {
    assert.throws(() => files.checkSocket(path), refused, path);
  }
});

test("[FT4] a refusal does not tell whether the file exists", () => {
  const files = createTargetFiles({ dataDir: data });
  for (const judge of [files.resolve, files.checkSocket]) {
    const said = (path: string): string => {
      try {
        return String(judge(path));
      } catch (error) {
        const { message, hint, cause } = error as OperatingError;
        return JSON.stringify([message, hint, cause]).replaceAll(path, "PATH");
      }
    };
    const wanted = said("/etc/no-such-file");
    assert.ok(!wanted.includes(root), wanted); // Where the data directory is, is nobody's business.
    assert.match(wanted, /PATH/);
    for (const path of ["/etc/passwd", "/etc/shadow", "/no/such/dir/file", "/etc/passwd/below"]) {
      assert.equal(said(path), wanted, path);
    }
  }
});
