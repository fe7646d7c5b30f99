# Becomes the program given as $1 in an image-like root at $2, with the kubeconfig on standard input.
#
# Run by rootless.rs as root in a mount namespace of its own; $3 is the numeric user, $4 the working folder, the rest
# are arguments of the program.
set -eu
program=$1 root=$2 user=$3 folder=$4
shift 4

mount -t tmpfs tmpfs "$root"
mkdir -p "$root/bin" "$root/tmp" "$root/$folder"
: > "$root/bin/rollouts-controller"
mount --bind -o ro "$program" "$root/bin/rollouts-controller"
# The program of a test asks for a loader and libraries; the one in the image is static and has none.
for libraries in /lib /lib64 /usr/lib; do
  if [ -d "$libraries" ]; then
    mkdir -p "$root$libraries"
    mount --bind -o ro "$libraries" "$root$libraries"
  fi
done
cat > "$root/kubeconfig"
chmod 0444 "$root/kubeconfig"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -o remount,ro "$root"

# An empty environment but for what the manifests' pod has; above all no HOME.
exec env -i POD_NAMESPACE=argo-rollouts setpriv --no-new-privs -- \
  unshare --root="$root" --wd="$folder" --setgid="$user" --setuid="$user" -- /bin/rollouts-controller "$@"
