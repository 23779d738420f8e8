	.cfi_sections .sframe, .eh_frame
	.text
	.globl _start
_start:
	.cfi_startproc
	.cfi_undefined rip
call f1
call f2
call f3
call f4
call f5
call f6
call f7
call f8
call f9
call f10
call f11
call f12
call f13
call f14
call f15
call f16
call f17
call f18
call f19
call f20
call f21
call f22
call f23
call f24
call f25
call f26
call f27
call f28
call f29
call f30
call f31
call f32
call f33
call f34
call f35
call f36
call f37
call f38
call f39
call f40
call f41
call f42
call f43
call f44
call f45
call f46
call f47
call f48
call f49
call f50
call f51
call f52
call f53
call f54
call f55
call f56
call f57
call f58
call f59
call f60
call f61
call f62
call f63
call f64
call f65
call f66
call f67
call f68
call f69
call f70
call f71
call f72
call f73
call f74
call f75
call f76
call f77
call f78
call f79
call f80
call f81
call f82
call f83
call f84
call f85
call f86
call f87
call f88
call f89
call f90
call f91
call f92
call f93
call f94
call f95
call f96
call f97
call f98
call f99
call f100
	xor %edi,%edi
	mov $60,%eax
	syscall
	.cfi_endproc
	.type f1,@function
f1:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f1,.-f1
	.type f2,@function
f2:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f2,.-f2
	.type f3,@function
f3:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f3,.-f3
	.type f4,@function
f4:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f4,.-f4
	.type f5,@function
f5:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f5,.-f5
	.type f6,@function
f6:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f6,.-f6
	.type f7,@function
f7:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f7,.-f7
	.type f8,@function
f8:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f8,.-f8
	.type f9,@function
f9:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f9,.-f9
	.type f10,@function
f10:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f10,.-f10
	.type f11,@function
f11:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f11,.-f11
	.type f12,@function
f12:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f12,.-f12
	.type f13,@function
f13:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f13,.-f13
	.type f14,@function
f14:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f14,.-f14
	.type f15,@function
f15:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f15,.-f15
	.type f16,@function
f16:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f16,.-f16
	.type f17,@function
f17:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f17,.-f17
	.type f18,@function
f18:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f18,.-f18
	.type f19,@function
f19:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f19,.-f19
	.type f20,@function
f20:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f20,.-f20
	.type f21,@function
f21:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f21,.-f21
	.type f22,@function
f22:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f22,.-f22
	.type f23,@function
f23:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f23,.-f23
	.type f24,@function
f24:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f24,.-f24
	.type f25,@function
f25:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f25,.-f25
	.type f26,@function
f26:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f26,.-f26
	.type f27,@function
f27:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f27,.-f27
	.type f28,@function
f28:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f28,.-f28
	.type f29,@function
f29:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f29,.-f29
	.type f30,@function
f30:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f30,.-f30
	.type f31,@function
f31:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f31,.-f31
	.type f32,@function
f32:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f32,.-f32
	.type f33,@function
f33:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f33,.-f33
	.type f34,@function
f34:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f34,.-f34
	.type f35,@function
f35:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f35,.-f35
	.type f36,@function
f36:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f36,.-f36
	.type f37,@function
f37:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f37,.-f37
	.type f38,@function
f38:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f38,.-f38
	.type f39,@function
f39:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f39,.-f39
	.type f40,@function
f40:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f40,.-f40
	.type f41,@function
f41:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f41,.-f41
	.type f42,@function
f42:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f42,.-f42
	.type f43,@function
f43:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f43,.-f43
	.type f44,@function
f44:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f44,.-f44
	.type f45,@function
f45:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f45,.-f45
	.type f46,@function
f46:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f46,.-f46
	.type f47,@function
f47:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f47,.-f47
	.type f48,@function
f48:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f48,.-f48
	.type f49,@function
f49:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f49,.-f49
	.type f50,@function
f50:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f50,.-f50
	.type f51,@function
f51:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f51,.-f51
	.type f52,@function
f52:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f52,.-f52
	.type f53,@function
f53:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f53,.-f53
	.type f54,@function
f54:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f54,.-f54
	.type f55,@function
f55:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f55,.-f55
	.type f56,@function
f56:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f56,.-f56
	.type f57,@function
f57:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f57,.-f57
	.type f58,@function
f58:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f58,.-f58
	.type f59,@function
f59:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f59,.-f59
	.type f60,@function
f60:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f60,.-f60
	.type f61,@function
f61:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f61,.-f61
	.type f62,@function
f62:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f62,.-f62
	.type f63,@function
f63:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f63,.-f63
	.type f64,@function
f64:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f64,.-f64
	.type f65,@function
f65:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f65,.-f65
	.type f66,@function
f66:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f66,.-f66
	.type f67,@function
f67:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f67,.-f67
	.type f68,@function
f68:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f68,.-f68
	.type f69,@function
f69:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f69,.-f69
	.type f70,@function
f70:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f70,.-f70
	.type f71,@function
f71:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f71,.-f71
	.type f72,@function
f72:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f72,.-f72
	.type f73,@function
f73:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f73,.-f73
	.type f74,@function
f74:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f74,.-f74
	.type f75,@function
f75:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f75,.-f75
	.type f76,@function
f76:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f76,.-f76
	.type f77,@function
f77:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f77,.-f77
	.type f78,@function
f78:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f78,.-f78
	.type f79,@function
f79:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f79,.-f79
	.type f80,@function
f80:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f80,.-f80
	.type f81,@function
f81:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f81,.-f81
	.type f82,@function
f82:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f82,.-f82
	.type f83,@function
f83:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f83,.-f83
	.type f84,@function
f84:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f84,.-f84
	.type f85,@function
f85:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f85,.-f85
	.type f86,@function
f86:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f86,.-f86
	.type f87,@function
f87:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f87,.-f87
	.type f88,@function
f88:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f88,.-f88
	.type f89,@function
f89:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f89,.-f89
	.type f90,@function
f90:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f90,.-f90
	.type f91,@function
f91:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f91,.-f91
	.type f92,@function
f92:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f92,.-f92
	.type f93,@function
f93:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f93,.-f93
	.type f94,@function
f94:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f94,.-f94
	.type f95,@function
f95:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f95,.-f95
	.type f96,@function
f96:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f96,.-f96
	.type f97,@function
f97:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f97,.-f97
	.type f98,@function
f98:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f98,.-f98
	.type f99,@function
f99:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f99,.-f99
	.type f100,@function
f100:
	.cfi_startproc
	.set n,0
	.rept 100
	nop
	.cfi_def_cfa_offset 24+8*(n%100)
	nop
	.cfi_def_cfa_offset 16+8*(n%100)
	.set n,n+1
	.endr
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size f100,.-f100
