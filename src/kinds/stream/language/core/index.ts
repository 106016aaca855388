export { deadLetterNode } from "./bind/dead-letters.ts";
export { functions as dialectFunctions } from "./bind/functions.ts";
export { filledBySomebody } from "./bind/lake-tables.ts";
export { bindPlan } from "./bind/plan-query.ts";
export type {
  Catalog,
  FilledTable,
  LakeTable,
  LogicalSource,
  PhysicalSource,
  SinkDefinition,
  ViewDefinition,
} from "./catalog.ts";
export { hashPlan } from "./check-plan.ts";
export type {
  ConnectorDescriptor,
  FormatDescriptor,
  Guarantee,
  SettingDescriptor,
} from "./connectors/descriptor.ts";
export { readDropSettings } from "./connectors/drop-settings.ts";
export { checkFileOf, checkFilePath, fileOutside } from "./connectors/file-path.ts";
export { inputFormats, outputFormats } from "./connectors/formats.ts";
export { querySettings } from "./connectors/query-settings.ts";
export { sinkDescriptors } from "./connectors/sinks.ts";
export { sourceDescriptors } from "./connectors/sources.ts";
export {
  findSystemStream,
  isSystemName,
  systemPhysical,
  systemPrefix,
  systemSource,
  systemStreams,
  systemType,
  systemViews,
} from "./connectors/system-streams.ts";
export { readWorkerSettings, workerSettings } from "./connectors/worker-settings.ts";
export {
  type DataType,
  type Field,
  type FixedType,
  type IntegerType,
  isFloat,
  isInteger,
  isNumeric,
  isSigned,
  notNull,
  nullable,
  type Schema,
  type TypeName,
  widthOf,
} from "./data-type.ts";
export {
  defineLogicalSource,
  defineNamedSink,
  definePhysicalSource,
  defineView,
} from "./define-objects.ts";
export {
  DialectError,
  type DialectErrorNumber,
  dialectErrors,
  type Position,
} from "./dialect-error.ts";
export {
  type DialectName,
  type DialectSettings,
  defaultDialect,
  dialects,
  suiteDialect,
  withBufferSize,
} from "./dialect-settings.ts";
export { translateDialectError } from "./error-codes.ts";
export {
  explainPlan,
  formatExplanation,
} from "./explain/explain-plan.ts";
export { explainStatement } from "./explain/explain-statement.ts";
export type { Constant, Expr, FunctionName } from "./expr.ts";
export { LocalCatalog } from "./local-catalog.ts";
export { cutPlan, type Stage } from "./parallel/cut-plan.ts";
export { insertExchanges } from "./parallel/insert-exchanges.ts";
export type {
  AstExpr,
  AstSetting,
  AstSink,
  Statement,
} from "./parse/ast.ts";
export { parseQueryText, parseStatements } from "./parse/parse-statements.ts";
export { parsePreviewText, previewRowsMax } from "./parse/preview-parser.ts";
export type {
  AggregateCall,
  AggregateFunction,
  IntervalJoinOp,
  JoinKey,
  KeyedOp,
  LookupJoinOp,
  PartialAggregateOp,
  Plan,
  PlanInput,
  PlanNode,
  PlanOp,
  QuerySettings,
  Settings,
  SinkOp,
  SortKey,
  SourceOp,
  TopNOp,
  WindowAggregateOp,
  WindowJoinOp,
  WindowSpec,
} from "./plan.ts";
export { optimizeBound, planQuery } from "./plan-statement.ts";
export { namedSecretOf, secretsOf, withSecrets } from "./secrets.ts";
export { withSetting } from "./with-setting.ts";
