/** What a user can do to the cluster. A toast reports each outcome. */
import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { request } from "../api/http.ts";
import { toastDone, toastFailed } from "./toasts.tsx";

export type WorkerAction = "drain" | "undrain" | "drop";

const done: Readonly<Record<WorkerAction, string>> = {
  drain: "It takes no new work, and finishes what it has accepted.",
  undrain: "It takes work again.",
  drop: "Removed from the cluster.",
};

export function useWorkerAction(): UseMutationResult<
  Response,
  Error,
  { readonly action: WorkerAction; readonly workerId: string }
> {
  return useMutation({
    mutationFn: ({ action, workerId }) => {
      const path = `/api/v1/workers/${encodeURIComponent(workerId)}`;
      return action === "drop"
        ? request(path, { method: "DELETE" })
        : request(`${path}/${action}`, { method: "POST" });
    },
    onSuccess: (_response, { action, workerId }) => toastDone(workerId, done[action]),
    onError: (error, { action, workerId }) => toastFailed(`Could not ${action} ${workerId}`, error),
  });
}

export type TableAction = "refresh" | "suspend" | "resume" | "drop";

const tableDone: Readonly<Record<TableAction, string>> = {
  refresh: "A refresh is requested; the next free worker runs it.",
  suspend: "Suspended, with the tables that read it.",
  resume: "Resumed.",
  drop: "Dropped.",
};

export function useTableAction(): UseMutationResult<
  Response,
  Error,
  { readonly action: TableAction; readonly table: string }
> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ action, table }) => {
      const path = `/api/v1/dynamic-tables/${encodeURIComponent(table)}`;
      return action === "drop"
        ? request(path, { method: "DELETE" })
        : request(`${path}/${action}`, { method: "POST" });
    },
    onSuccess: async (_response, { action, table }) => {
      toastDone(table, tableDone[action]);
      await queries.invalidateQueries({ queryKey: ["tables"] });
    },
    onError: (error, { action, table }) => toastFailed(`Could not ${action} ${table}`, error),
  });
}

export type StreamAction = "pause" | "resume" | "drop soft" | "drop hard";

const streamDone: Readonly<Record<StreamAction, string>> = {
  pause: "Accepted: it stops at a checkpoint, and keeps it.",
  resume: "Accepted: it goes on from its checkpoint.",
  "drop soft": "Accepted: what was read still reaches its sinks.",
  "drop hard": "Accepted: it is stopped at once.",
};

export function useStreamAction(): UseMutationResult<
  Response,
  Error,
  { readonly action: StreamAction; readonly queryId: string; readonly name: string }
> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ action, queryId }) => {
      const path = `/api/v1/streams/queries/${encodeURIComponent(queryId)}`;
      const [verb, mode] = action.split(" ");
      return verb === "drop"
        ? request(`${path}?mode=${mode}`, { method: "DELETE" })
        : request(`${path}/${verb}`, { method: "POST" });
    },
    onSuccess: async (_response, { action, name }) => {
      toastDone(name, streamDone[action]);
      await queries.invalidateQueries({ queryKey: ["streams"] });
    },
    onError: (error, { action, name }) =>
      toastFailed(`Could not ${action.split(" ")[0]} ${name}`, error),
  });
}

export function useCancelQuery(): UseMutationResult<Response, Error, string> {
  return useMutation({
    mutationFn: (queryId) =>
      request(`/api/v1/queries/${encodeURIComponent(queryId)}`, { method: "DELETE" }),
    onError: (error) => toastFailed("Could not cancel the query", error),
  });
}
