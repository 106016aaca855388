/** `npm run typecheck`: the project, then the dashboard, which has its own settings. */
import { runAll } from "./run-all.js";

runAll("typecheck", [
  ["tsc", "-p", "."],
  ["tsc", "-p", "web"],
]);
