export {
  type Batch,
  batchRowsMax,
  type Column,
  createValues,
  type FixedArray,
  type FixedColumn,
  isValid,
  selectedCount,
  type TextColumn,
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
export type {
  CsvInputSettings,
  CsvOutputSettings,
  JsonInputSettings,
  JsonOutputSettings,
  MalformedPolicy,
} from "./formats/settings.ts";
export {
  Fragment,
  type FragmentEdges,
  type FragmentInput,
  type FragmentParts,
  type NodeState,
  type SavedNodeState,
} from "./fragment/fragment.ts";
export { type MemoryRefusal, QueryMemory, type ReserveMemory } from "./fragment/query-memory.ts";
export type { StationCounts } from "./fragment/station.ts";
export { type ColumnGenerator, parseGeneratorSchema } from "./generator/generator-schema.ts";
export {
  type GeneratorStop,
  RowGenerator,
  type RowGeneratorOptions,
} from "./generator/row-generator.ts";
export { withIngestionTime } from "./ingestion-time.ts";
export {
  endOfTime,
  type LateRows,
  type LookupTable,
  type LookupVersion,
  type MemoryAccount,
  type Operator,
  type OperatorContext,
  type SavedSection,
  type StateSection,
  startOfTime,
} from "./operator.ts";

export type {
  MalformedRecords,
  RecordParser,
  RecordParserContext,
  RecordWriter,
} from "./records.ts";
export { allRows, type ColumnView, viewOf } from "./tables/column-view.ts";
export { type HashRows, keyGroupCount } from "./tables/hash-rows.ts";
export { RowStore } from "./tables/row-store.ts";
