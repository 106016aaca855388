/** Short messages about what somebody just did. Errors stay longer, and screen readers hear them at once. */
import { Notification } from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { ApiError } from "../api/http.ts";

interface Toast {
  readonly id: number;
  readonly tone: "good" | "bad";
  readonly title: string;
  readonly message: string;
}

interface Toasts {
  readonly succeeded: (title: string, message: string) => void;
  readonly failed: (title: string, error: unknown) => void;
}

const toastsMax = 4;
const goodMs = 5_000;
const badMs = 15_000;

const ToastsContext = createContext<Toasts | undefined>(undefined);
let lastId = 0;

export function ToastsProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const close = useCallback(
    (id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)),
    [],
  );
  const show = useCallback(
    (tone: Toast["tone"], title: string, message: string) => {
      lastId += 1;
      const id = lastId;
      setToasts((shown) => [...shown, { id, tone, title, message }].slice(-toastsMax));
      setTimeout(() => close(id), tone === "good" ? goodMs : badMs);
    },
    [close],
  );
  const value = useMemo<Toasts>(
    () => ({
      succeeded: (title, message) => show("good", title, message),
      failed: (title, error) => show("bad", title, describe(error)),
    }),
    [show],
  );
  return (
    <ToastsContext value={value}>
      {children}
      <div className="toasts">
        {toasts.map((toast) => (
          <Notification
            key={toast.id}
            role={toast.tone === "bad" ? "alert" : "status"}
            title={toast.title}
            color={toast.tone === "bad" ? "red" : "teal"}
            icon={toast.tone === "bad" ? <IconAlertTriangle size={16} /> : <IconCheck size={16} />}
            withBorder
            closeButtonProps={{ "aria-label": "Dismiss" }}
            onClose={() => close(toast.id)}
          >
            {toast.message}
          </Notification>
        ))}
      </div>
    </ToastsContext>
  );
}

export function useToasts(): Toasts {
  const toasts = useContext(ToastsContext);
  if (toasts === undefined) throw new Error("useToasts is called outside of ToastsProvider");
  return toasts;
}

function describe(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
}
