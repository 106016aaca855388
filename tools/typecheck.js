/**
 * `npm run typecheck`: the project, then the dashboard, which has its own settings. Arguments go to
 * the compiler.
 */
import { runAll } from "./run-all.js";

const given = process.argv.slice(2);

runAll("typecheck", [
  ["tsc", "-p", ".", ...given],
  ["tsc", "-p", "web", ...given],
]);
