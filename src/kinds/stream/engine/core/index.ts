export {
  type Batch,
  batchRowsMax,
  type Column,
  createValues,
  isValid,
  selectedCount,
  validityBytes,
} from "./batch.ts";
export { createOperator } from "./create-operator.ts";
export {
  decodeFrame,
  encodeFrame,
  type Frame,
  frameKindOf,
  frameLength,
} from "./exchange/frame.ts";
export { createSender } from "./exchange/sender.ts";

export { compileRowWriter } from "./formats/compile-row-writer.ts";
export { createRecordParser, createRecordWriter } from "./formats/create-format.ts";

export {
  Fragment,
  type FragmentEdges,
  type FragmentInput,
  type NodeState,
  type SavedNodeState,
} from "./fragment/fragment.ts";
export { type MemoryRefusal, QueryMemory, type ReserveMemory } from "./fragment/query-memory.ts";
export type { StationCounts } from "./fragment/station.ts";
export { parseGeneratorSchema } from "./generator/generator-schema.ts";
export {
  type GeneratorStop,
  RowGenerator,
  type RowGeneratorOptions,
} from "./generator/row-generator.ts";
export { withIngestionTime } from "./ingestion-time.ts";
export {
  endOfTime,
  type LookupTable,
  type LookupVersion,
  type MemoryAccount,
  type Operator,
  type OperatorContext,
  type SavedSection,
  startOfTime,
} from "./operator.ts";

export type {
  RecordParser,
  RecordWriter,
} from "./records.ts";
export { allRows, viewOf } from "./tables/column-view.ts";
export { keyGroupCount } from "./tables/hash-rows.ts";
export { RowStore } from "./tables/row-store.ts";
