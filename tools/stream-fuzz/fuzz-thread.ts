/** A thread of the stream fuzzer: takes one block at a time. */
import { parentPort } from "node:worker_threads";
import type { BlockAnswer, BlockRequest, FuzzKind } from "./block.ts";
import { watchCompiledTexts } from "./compiled-texts.ts";
import { fuzzPlans } from "./plans.ts";
import { fuzzRecords } from "./records.ts";
import { fuzzStatements } from "./statements.ts";

const fuzzers: Readonly<Record<FuzzKind, (request: BlockRequest) => BlockAnswer>> = {
  statements: fuzzStatements,
  records: fuzzRecords,
  plans: fuzzPlans,
};

// Most statements end in an error, and whole stacks would be a tenth of what they cost.
Error.stackTraceLimit = 3;
watchCompiledTexts();
parentPort?.on("message", (request: BlockRequest) => {
  parentPort?.postMessage(fuzzers[request.kind](request));
});
