/** Runs beside each other. */
import { IconScale } from "@tabler/icons-react";
import { Empty } from "../../../components/empty.tsx";

export function ComparePage() {
  return (
    <div className="card">
      <Empty icon={IconScale} title="Nothing to compare yet" />
    </div>
  );
}
