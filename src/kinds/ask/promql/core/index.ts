/** The language: parse, check, plan to leaves, evaluate. Pure. */
export { AnnotationSet } from "./annotations.ts";
export type { Expr, ValueType } from "./ast.ts";
export { compileRegex } from "./compile-regex.ts";
export {
  formatDuration,
  parseDuration,
} from "./durations.ts";
export {
  defaultEngineOptions,
  type EngineOptions,
  PromqlError,
  type QueryParams,
  type QueryPlan,
  type QueryResult,
} from "./engine-types.ts";
export { evaluatePlan } from "./eval/evaluate-plan.ts";
export { formatAnnotation } from "./eval/format-annotation.ts";
export { mergeLeafResults } from "./eval/merge-leaf-results.ts";
export {
  type HeldMemory,
  sampleBytes,
  stepBytes,
  unboundedMemory,
} from "./held-memory.ts";
export { populatedBuckets } from "./histogram/bucket-walk.ts";
export {
  decodeHistogram,
  encodeHistogram,
} from "./histogram/codec.ts";
export {
  type CounterResetHint,
  customBucketsSchema,
  type FloatHistogram,
  type Span,
} from "./histogram/float-histogram.ts";
export { reduceResolution } from "./histogram/scale.ts";
export { withStoredHint } from "./histogram/stored-hint.ts";
export { histogramFault } from "./histogram/validate.ts";
export { compareLabels, compareText, Labels, metricNameLabel } from "./labels.ts";
export { executeLeaf } from "./leaf/execute-leaf.ts";
export { leafTimeRange } from "./leaf/leaf-time-range.ts";
export { compileMatchers, matcherSetKey } from "./leaf/matchers.ts";
export type {
  BaseExpr,
  LeafAnnotation,
  LeafResult,
  LeafStats,
  Matcher,
  PartialGroup,
} from "./leaf.ts";
export {
  type Annotation,
  type Grid,
  instantGrid,
  type Position,
  type RawSeries,
  type SampleColumns,
  type StepSeries,
  stepAbsent,
  stepCount,
  stepFloat,
  stepHistogram,
} from "./model.ts";
export { parseExpr, parseMatchers } from "./parse/parse-expr.ts";
export {
  type DescribedValue,
  parseSeriesDescription,
  type SeriesDescription,
} from "./parse/series-description.ts";
export { typeOf } from "./parse/type-of.ts";
export { explainPlan } from "./plan/explain-plan.ts";
export { planQuery } from "./plan/plan-query.ts";
export { astToJson } from "./print/ast-to-json.ts";
export { formatExpr } from "./print/format-expr.ts";
export { printExpr } from "./print/print-expr.ts";
export { selectorsOf } from "./selectors-of.ts";
