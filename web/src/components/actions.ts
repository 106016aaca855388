/** What a person can do to the cluster from here. Each outcome is told in a toast. */
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { request } from "../api/http.ts";
import { useToasts } from "./toasts.tsx";

export type WorkerAction = "drain" | "undrain" | "drop";

const done: Readonly<Record<WorkerAction, string>> = {
  drain: "It takes no new work and finishes what it has.",
  undrain: "It takes work again.",
  drop: "It is no longer part of the cluster.",
};

export function useWorkerAction(): UseMutationResult<
  Response,
  Error,
  { readonly action: WorkerAction; readonly workerId: string }
> {
  const toasts = useToasts();
  return useMutation({
    mutationFn: ({ action, workerId }) => {
      const path = `/api/v1/workers/${encodeURIComponent(workerId)}`;
      return action === "drop"
        ? request(path, { method: "DELETE" })
        : request(`${path}/${action}`, { method: "POST" });
    },
    onSuccess: (_response, { action, workerId }) => toasts.succeeded(workerId, done[action]),
    onError: (error, { action, workerId }) =>
      toasts.failed(`Could not ${action} ${workerId}`, error),
  });
}

export function useCancelQuery(): UseMutationResult<Response, Error, string> {
  const toasts = useToasts();
  return useMutation({
    mutationFn: (queryId) =>
      request(`/api/v1/queries/${encodeURIComponent(queryId)}`, { method: "DELETE" }),
    onError: (error) => toasts.failed("Could not cancel the query", error),
  });
}
