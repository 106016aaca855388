/** The contexts that parts are built from, and what a part gives to its process. */
export type {
  ControllerContext,
  ControllerKind,
  ControllerPart,
  CoordinatorContext,
} from "./controller-context.ts";
export type { StoreOfWorker, WorkerContext, WorkerKind, WorkerPart } from "./worker-context.ts";
