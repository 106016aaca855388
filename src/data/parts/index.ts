/** The contexts that parts are built from, and what a part gives to its process. */
export type {
  ControllerContext,
  ControllerPart,
  CoordinatorContext,
  StoreContext,
} from "./controller-context.ts";
export type { StoreOfWorker, WorkerContext, WorkerPart } from "./worker-context.ts";
