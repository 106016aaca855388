/**
 * What the documentation tells people to type is what the program takes; what it says of Node is
 * what the package says.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createProgram } from "../../src/cli/program.ts";
import { commandsIn, root, splitShell } from "./docs.ts";

async function parse(args: readonly string[]): Promise<void> {
  const nothing = async (): Promise<void> => undefined;
  const run = { ask: nothing, serve: nothing, exitWith: () => undefined };
  await createProgram("0.0.0-test", run, true).parseAsync([...args], { from: "user" });
}

const files = ["README.md", "deploy/kubernetes/README.md", ...globSync("docs/*.md", { cwd: root })];
for (const file of files) {
  const commands = commandsIn(file);
  test(`${file}: the command line takes its ${commands.length} commands`, async () => {
    for (const { line, args } of commands) {
      await assert.doesNotReject(parse(args), `${file}:${line}: capstan ${args.join(" ")}`);
    }
  });
}

test("commands are found, and a wrong one would be refused", async () => {
  assert.ok(commandsIn("README.md").length >= 10);
  assert.ok(commandsIn("docs/test.md").length >= 5);
  await assert.rejects(parse(["load", "rum"]));
  await assert.rejects(parse(["up", "--worker", "2"]));
  assert.deepEqual(splitShell(`sql -c "a 'b'" 'c "d"' --x=1 # why`), [
    ...["sql", "-c", "a 'b'", 'c "d"', "--x=1"],
  ]);
});

test("engines, README and the program agree about Node", () => {
  const text = (path: string): string => readFileSync(join(root, path), "utf8");
  const { engines } = JSON.parse(text("package.json")) as { engines: { node: string } };
  const [, needed] = /majorMin = (\d+)/.exec(text("bin/capstan.js")) ?? [];
  const [, forClone] = /nodeMajor < (\d+)/.exec(text("tools/bootstrap.js")) ?? [];
  assert.equal(engines.node, `>=${needed}`);
  assert.match(text("README.md"), new RegExp(`package needs Node ${needed} or newer`));
  assert.match(text("README.md"), new RegExp(`clone[^.]*Node ${forClone} or newer`));
});
