/** `npm run lint`: Biome (format and rules), knip (dead files, exports, dependencies). */
import { runAll } from "./run-all.js";

runAll("lint", [
  ["biome", "check", "--error-on-warnings"],
  ["knip", "--no-progress"],
]);
