/**
 * `npm run typecheck`: the project, then the dashboard, which has its own settings. What the
 * compiler found is kept, so that the next time it looks only at what changed and what depends on
 * it. Arguments go to the compiler.
 */
import { runAll } from "./run-all.js";

const given = process.argv.slice(2);

runAll("typecheck", [check(".", "project"), check("web", "web")]);

function check(folder, name) {
  const kept = `node_modules/.cache/tsc/${name}.tsbuildinfo`;
  return ["tsc", "-p", folder, "--incremental", "--tsBuildInfoFile", kept, ...given];
}
