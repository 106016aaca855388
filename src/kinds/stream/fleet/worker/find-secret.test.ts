import assert from "node:assert/strict";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { FragmentSpec } from "../../run/core/index.ts";
import { resolveSecrets } from "./find-secret.ts";
import { fragmentErrorOf } from "./fragment-error.ts";

const directory = await mkdtemp(join(tmpdir(), "capstan-secrets-"));
after(() => rm(directory, { recursive: true, force: true }));
await writeFile(join(directory, "data"), "from the file\n");
await symlink("data", join(directory, "api-token"));
await writeFile(join(directory, "empty"), "\n");

function specsOf(type: string, config: object): readonly FragmentSpec[] {
  const op = { kind: "source", type, name: "s", config };
  return [{ fragment: "f0", nodes: [{ id: 0, inputs: [], schema: [], op }] } as never];
}

async function resolved(specs: readonly FragmentSpec[], env = {}, from?: string) {
  const [spec] = await resolveSecrets(specs, { env, directory: from });
  const op = spec?.nodes[0]?.op;
  assert.ok(op?.kind === "source");
  return op.config;
}

const token = (name: string) => specsOf("HTTP", { HTTP_PORT: 1, TOKEN: `SECRET('${name}')` });

test("[SD45] a secret is in the environment, or else in a file of its name", async () => {
  const env = { CAPSTAN_SECRET_API_TOKEN: "from the environment" };
  assert.equal((await resolved(token("api-token"), env)).TOKEN, "from the environment");
  assert.equal((await resolved(token("api-token"), env, directory)).TOKEN, "from the environment");
  assert.equal((await resolved(token("api-token"), {}, directory)).TOKEN, "from the file");
});

test("[SD45] settings that are not secret, and references of other kinds, stay as they are", async () => {
  const file = { FILE_PATH: "SECRET('api-token')" };
  assert.deepEqual(await resolved(specsOf("File", file), {}, directory), file);
  for (const name of ["../data", "..", "5/TOKEN", ""]) {
    const config = { HTTP_PORT: 1, TOKEN: `SECRET('${name}')` };
    assert.deepEqual(await resolved(specsOf("HTTP", config), {}, directory), config);
  }
});

test("[SD46] a secret that is not there is a terminal error with its name and the places", async () => {
  const error = async (name: string, from?: string) => {
    const thrown = await resolveSecrets(token(name), { env: {}, directory: from }).catch(
      (each: unknown) => each,
    );
    return fragmentErrorOf(thrown);
  };
  const none = await error("db.pass");
  assert.equal(none.retry, "never");
  assert.match(
    none.message,
    /there is no secret db\.pass on this worker: it looked for the environment variable CAPSTAN_SECRET_DB_PASS$/,
  );
  const path = join(directory, "nosuch");
  assert.ok((await error("nosuch", directory)).message.endsWith(` and the file ${path} (ENOENT)`));
  assert.match((await error("empty", directory)).message, /\(it is empty\)/);
});
