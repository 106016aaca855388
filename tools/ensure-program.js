/**
 * Before `npm start` and `npm run bench`: builds the program where the sources changed, which takes
 * two seconds. Where that fails, the sources run as they are.
 */
import { ensureProgram } from "./build-program.js";

try {
  await ensureProgram();
} catch (error) {
  process.stderr.write(
    `capstan: runs from its sources, since they could not be built: ${error.message}\n`,
  );
}
