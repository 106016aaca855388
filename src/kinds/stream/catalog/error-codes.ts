/**
 * The codes of the catalog's refusals: those of the coordinator's specification. `InvalidTopology`
 * is an error of the dialect, too, and declared there.
 */
import "../language/index.ts";
import { declareErrorCodes } from "../../../ground/kernel/error-codes.ts";

export const catalogCodes = declareErrorCodes({
  AlreadyExists: { status: 409 },
  DoesNotExist: { status: 404 },
  EmptySchema: { status: 422 },
  InvalidSchema: { status: 422 },
  InvalidConfig: { status: 422 },
  InvalidAddress: { status: 422 },
  UnreachableNode: { status: 422 },
  NetworkError: { status: 502 },
  ParserError: { status: 400 },
  BinderError: { status: 422 },
  OptimizerError: { status: 422 },
  PlacementError: { status: 422 },
  InsufficientCapacity: { status: 409 },
  LogicalSourceDoesNotExistForPhysical: { status: 422 },
  WorkerDoesNotExistForPhysical: { status: 422 },
  WorkerDoesNotExistForSink: { status: 422 },
  SourceTypeDoesNotExist: { status: 422 },
  SinkTypeDoesNotExist: { status: 422 },
  SinkDoesNotExistForQuery: { status: 422 },
  ReferencedPhysicalSourceExists: { status: 409 },
  ReferencedQueryExists: { status: 409 },
  ReferencedSourceExists: { status: 409 },
  ReferencedSinkExists: { status: 409 },
  WorkerBusy: { status: 409 },
  TooManyRequests: { status: 429 },
});

declare module "../../../ground/kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof catalogCodes, true> {}
}
