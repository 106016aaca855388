import { Unreadable } from "../../components/empty.tsx";

export function UnreadableRun({ error }: { readonly error: Error }) {
  const gone = "Runs are deleted when they are old.";
  return (
    <Unreadable what="run" error={error} gone={gone} back={{ to: "/load", text: "To all runs" }} />
  );
}
