package facts

import "strings"

// The signs by which a machine's firmware (DMI) tells its cloud. They follow
// the clouds' own documentation and cloud-init's ds-identify. None of them is
// shared by two clouds, and none is set on a machine that is in no cloud.

func hintEC2(root tree) bool {
	if dmi(root, "sys_vendor") == "Amazon EC2" {
		return true
	}
	// Older, Xen-based types have no vendor of their own.
	return strings.HasPrefix(strings.ToLower(root.text("sys/hypervisor/uuid")), "ec2") &&
		strings.Contains(dmi(root, "bios_version"), "amazon")
}

func hintGCE(root tree) bool { return dmi(root, "product_name") == "Google Compute Engine" }

// azureTag is the asset tag of every Azure machine. The vendor, Microsoft, is
// that of any Hyper-V, too.
const azureTag = "7783-7084-3265-9085-8269-3286-77"

func hintAzure(root tree) bool { return dmi(root, "chassis_asset_tag") == azureTag }

func hintAliyun(root tree) bool { return dmi(root, "product_name") == "Alibaba Cloud ECS" }

func hintHuawei(root tree) bool { return dmi(root, "chassis_asset_tag") == "HUAWEICLOUD" }

func hintOpenStack(root tree) bool {
	if hintHuawei(root) {
		return false // it calls itself OpenStack, too
	}
	switch dmi(root, "product_name") {
	case "OpenStack Nova", "OpenStack Compute":
		return true
	}
	return dmi(root, "chassis_asset_tag") == "OpenTelekomCloud"
}
