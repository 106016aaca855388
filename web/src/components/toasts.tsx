/**
 * Short messages about the user's last action. Errors stay longer, and screen readers announce them
 * at once.
 */
import { type NotificationData, notifications } from "@mantine/notifications";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { ApiError } from "../api/http.ts";

const goodMs = 5_000;
const badMs = 15_000;

export function toastDone(title: string, message: string): void {
  show(title, message, {
    role: "status",
    color: "teal",
    icon: <IconCheck size={16} />,
    autoClose: goodMs,
  });
}

export function toastFailed(title: string, error: unknown): void {
  show(title, describe(error), {
    role: "alert",
    color: "red",
    icon: <IconAlertTriangle size={16} />,
    autoClose: badMs,
  });
}

function show(title: string, message: string, tone: Partial<NotificationData>): void {
  const closeButtonProps = { "aria-label": "Dismiss" };
  notifications.show({ title, message, withBorder: true, closeButtonProps, ...tone });
}

function describe(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
}
