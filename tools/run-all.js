import { spawnSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");

/** Runs each command, all of them even when one fails, and ends with `NAME: N/M passed`. */
export function runAll(name, commands) {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const passed = commands.filter(
    ([command, ...args]) =>
      spawnSync(command, args, { cwd: root, stdio: "inherit", env }).status === 0,
  );
  process.stdout.write(`${name}: ${passed.length}/${commands.length} passed\n`);
  process.exit(passed.length === commands.length ? 0 : 1);
}
