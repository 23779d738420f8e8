// SPDX-License-Identifier: GPL-2.0
/* A module with what modules have: code in several sections, a jump label, an array on the stack, a warning, a user access,
   and a function in assembly. */
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

DEFINE_STATIC_KEY_FALSE(sample_key);

long sample_entry(long (*callee)(long), long argument);
long sample_copy(const void __user *from, size_t len);

static noinline long sample_leaf(long value)
{
	return value * 3 + 1;
}

static noinline __cold long sample_rare(long value)
{
	pr_info("sample: %ld\n", value);
	return sample_leaf(value) + 1;
}

static noinline long sample_array(long len)
{
	char text[512] __aligned(64);
	long index;

	for (index = 0; index < len && index < (long)sizeof(text); index++)
		text[index] = (char)sample_leaf(index);
	return text[len & 511];
}

long sample_copy(const void __user *from, size_t len)
{
	long value = 0;

	if (static_branch_unlikely(&sample_key))
		value = sample_rare(value);
	if (copy_from_user(&value, from, min(len, sizeof(value))))
		return -EFAULT;
	if (WARN_ON(value < 0))
		return sample_rare(value);
	return sample_array(value) + sample_entry(sample_leaf, value);
}
EXPORT_SYMBOL_GPL(sample_copy);

static int __init sample_init(void)
{
	void *memory = kmalloc(64, GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	kfree(memory);
	return sample_entry(sample_leaf, 1) < 0 ? -EINVAL : 0;
}

static void __exit sample_exit(void)
{
	sample_rare(sample_array(1));
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_DESCRIPTION("A sample of what modules are made of");
MODULE_LICENSE("GPL");
