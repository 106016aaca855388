/**
 * `npm pack`'s first step: builds the program and the library to dist/program, the library's types
 * to dist/types, and the dashboard to dist/web.
 */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildProgram } from "./build-program.js";
import { buildTypes } from "./build-types.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");

rmSync(join(root, "dist"), { recursive: true, force: true });
await buildProgram(join(root, "dist", "program"));
buildTypes(join(root, "dist", "types"));
run("vite", "build", "web", "--logLevel", "warn");
cpSync(join(root, "web", "dist"), join(root, "dist", "web"), { recursive: true });

function run(command, ...args) {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], env });
  if (done.status !== 0) {
    process.stderr.write(
      `capstan: \`${command} ${args.join(" ")}\` failed: see the lines above.\n`,
    );
    process.exit(1);
  }
}
