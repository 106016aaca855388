import { fileURLToPath } from "node:url";

export const stubCommand: readonly [string, string] = [
  process.execPath,
  fileURLToPath(import.meta.resolve("./stub-load-worker.ts")),
];
